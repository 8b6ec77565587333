"""Hierarchy of Notion pages, data sources and blocks up to the workspace."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from connectors.providers.notion.client import NotionClient
from connectors.providers.notion.content import object_title
from connectors.sync_messages import ProviderState, SyncState

_STATE_PREFIX: Final = "node/"
_PARENT_COLLECTIONS: Final = {
    "page_id": "pages",
    "data_source_id": "data_sources",
    "database_id": "databases",
    "block_id": "blocks",
}
_MAX_DEPTH: Final = 50
_MAX_FETCHED_TITLES: Final = 100


@dataclass(frozen=True, slots=True)
class PageNode:
    """Node with its title and its parent's API path, e.g. `pages/<id>`; "" is the workspace."""

    parent: str
    title: str


def parent_path(found: Mapping[str, Any]) -> str:
    """Return the parent's API path of an object; a data source has the parent of its database."""
    parent = found.get("database_parent") or found.get("parent") or {}
    type_ = str(parent.get("type"))
    kind = _PARENT_COLLECTIONS.get(type_)
    return f"{kind}/{parent[type_]}" if kind and parent.get(type_) else ""


@dataclass(slots=True)
class PageTree:
    """Nodes seen in this run; others are loaded from stored state or fetched."""

    client: NotionClient
    state: SyncState
    changed_state: list[ProviderState]
    """Takes what is to be stored."""
    _nodes: dict[str, PageNode] = field(default_factory=dict)

    async def add(self, objects: Iterable[Mapping[str, Any]]) -> set[str]:
        """Add pages and data sources; return the ids of those that moved."""
        found = {str(node_id["id"]): PageNode(parent_path(node_id), object_title(node_id)) for node_id in objects}
        before = await self._load_nodes(found)
        for id_, node in found.items():
            self._set_node(id_, node, before.get(id_))
        return {id_ for id_, node in before.items() if node.parent != found[id_].parent}

    async def ancestors(self, id_: str) -> list[str]:
        """Return the ids from a node up to the workspace, itself first."""
        chain = [id_]
        at = (await self._get_node("pages", id_)).parent
        while at and len(chain) < _MAX_DEPTH:
            kind, _, next_id = at.partition("/")
            if next_id in chain:
                break
            chain.append(next_id)
            at = (await self._get_node(kind, next_id)).parent
        return chain

    async def path(self, id_: str) -> str:
        """Return the titles from the workspace down to a node."""
        titles = [self._nodes[above].title for above in await self.ancestors(id_)]
        return " / ".join(title for title in reversed(titles) if title)

    async def titles(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the titles of pages, of as many unknown ones as are worth a request each."""
        stored = await self._load_nodes(id_ for id_ in ids if id_ not in self._nodes)
        self._nodes |= stored
        for id_ in [id_ for id_ in ids if id_ not in self._nodes][:_MAX_FETCHED_TITLES]:
            await self._get_node("pages", id_)
        return {id_: self._nodes[id_].title for id_ in ids if id_ in self._nodes}

    async def known_title(self, id_: str) -> str:
        """Return the title of a node that was seen, "" for others; nothing is fetched."""
        node = self._nodes.get(id_) or (await self._load_nodes([id_])).get(id_)
        return "" if node is None else node.title

    async def descendants(self, id_: str) -> list[str]:
        """Return the ids of all known descendants of a node, itself first."""
        inside: dict[str, list[str]] = {}
        async for key, value in self.state.scan_provider_state(_STATE_PREFIX):
            _, _, above = json.loads(value)[0].partition("/")
            inside.setdefault(above, []).append(key.removeprefix(_STATE_PREFIX))
        found = [id_]
        for node_id in found:
            found += [inner for inner in inside.get(node_id, []) if inner not in found]
        return found

    async def _get_node(self, kind: str, id_: str) -> PageNode:
        if id_ not in self._nodes:
            remembered = (await self._load_nodes([id_])).get(id_)
            if remembered is None:
                found = await self.client.get_if_accessible(f"{kind}/{id_}")
                node = PageNode("", "") if found is None else PageNode(parent_path(found), object_title(found))
                self._set_node(id_, node, None)
            else:
                self._nodes[id_] = remembered
        return self._nodes[id_]

    async def _load_nodes(self, ids: Iterable[str]) -> dict[str, PageNode]:
        notes = await self.state.provider_state([_STATE_PREFIX + id_ for id_ in ids])
        return {key.removeprefix(_STATE_PREFIX): PageNode(*json.loads(value)) for key, value in notes.items()}

    def _set_node(self, id_: str, node: PageNode, before: PageNode | None) -> None:
        self._nodes[id_] = node
        if node != before:
            self.changed_state.append(ProviderState(_STATE_PREFIX + id_, json.dumps([node.parent, node.title])))
