"""Where a Notion page stands: in pages, data sources and blocks, up to the workspace."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from connectors.ports import Known, Note
from connectors.providers.notion_api import Api
from connectors.providers.notion_text import title

_PREFIX: Final = "node/"
_ABOVE: Final = {
    "page_id": "pages",
    "data_source_id": "data_sources",
    "database_id": "databases",
    "block_id": "blocks",
}
_DEPTH: Final = 50


@dataclass(frozen=True, slots=True)
class Node:
    """A title, and the place of what it stands in: `pages/<id>` and the like; "": the workspace."""

    place: str
    title: str


def place(found: Mapping[str, Any]) -> str:
    """What a page, data source, database or block stands in. A data source stands where its database does."""
    parent = found.get("database_parent") or found["parent"]
    kind = _ABOVE.get(parent["type"])
    return f"{kind}/{parent[parent['type']]}" if kind else ""


class Tree:
    """Nodes that were seen; the rest is remembered from earlier runs, or asked for."""

    def __init__(self, api: Api, known: Known) -> None:
        self._api = api
        self._known = known
        self._nodes: dict[str, Node] = {}
        self._notes: list[Note] = []

    async def put(self, objects: Iterable[Mapping[str, Any]]) -> set[str]:
        """Take in pages and data sources; the ids of those that stand elsewhere than they did."""
        found = {str(one["id"]): Node(place(one), title(one)) for one in objects}
        before = await self._remembered(found)
        for id_, node in found.items():
            self._set(id_, node, before.get(id_))
        return {id_ for id_, node in before.items() if node.place != found[id_].place}

    def notes(self) -> list[Note]:
        """What is to be remembered since the last time."""
        notes, self._notes = self._notes, []
        return notes

    async def above(self, id_: str) -> list[str]:
        """The ids from a node up to the workspace, itself first."""
        chain = [id_]
        at = (await self._node("pages", id_)).place
        while at and len(chain) < _DEPTH:
            kind, _, next_id = at.partition("/")
            if next_id in chain:
                break
            chain.append(next_id)
            at = (await self._node(kind, next_id)).place
        return chain

    async def path(self, id_: str) -> str:
        """The titles from the workspace down to a node."""
        titles = [self._nodes[above].title for above in await self.above(id_)]
        return " / ".join(title for title in reversed(titles) if title)

    async def within(self, id_: str) -> list[str]:
        """The ids of everything that was seen in a node at any time, itself first."""
        inside: dict[str, list[str]] = {}
        async for key, value in self._known.all_notes(_PREFIX):
            _, _, above = json.loads(value)[0].partition("/")
            inside.setdefault(above, []).append(key.removeprefix(_PREFIX))
        found = [id_]
        for one in found:
            found += [inner for inner in inside.get(one, []) if inner not in found]
        return found

    async def _node(self, kind: str, id_: str) -> Node:
        if id_ not in self._nodes:
            remembered = (await self._remembered([id_])).get(id_)
            if remembered is None:
                found = await self._api.find(f"{kind}/{id_}")
                node = Node("", "") if found is None else Node(place(found), title(found))
                self._set(id_, node, None)
            else:
                self._nodes[id_] = remembered
        return self._nodes[id_]

    async def _remembered(self, ids: Iterable[str]) -> dict[str, Node]:
        notes = await self._known.notes([_PREFIX + id_ for id_ in ids])
        return {key.removeprefix(_PREFIX): Node(*json.loads(value)) for key, value in notes.items()}

    def _set(self, id_: str, node: Node, before: Node | None) -> None:
        self._nodes[id_] = node
        if node != before:
            self._notes.append(Note(_PREFIX + id_, json.dumps([node.place, node.title])))
