"""A service to be replayed, and every row of the generation that is served, to be compared with another's."""

from dataclasses import asdict
from typing import Any

import numpy as np

from pipeline.store import Store
from tests.service.world import World

QUESTION = "Where does Ada live?"
Rows = dict[tuple[str, str], dict[str, Any]]


async def fill(service: World) -> None:
    """Several of everything that a log may hold."""
    await service.add("home", "Ada lives in Berlin. She plays the cello.", id="ada", metadata={"k": [" "]})
    await service.settled()
    await service.add("home", "Ada lives in Lisbon.", id="ada")
    await service.add("home", "Ada lives in Lisbon.", id="moved")
    await service.add("home", "Ada likes tea.", id="tea", taskType="superrag")
    await service.settled()
    await service.add("old", "Bob collects old maps. " * 20, id="bob", metadata={"n": 1}, dreaming="dynamic")
    await service.add("old", "Bob bakes bread.", id="gone")
    await service.add("ended", "Cleo lives in Oslo.", id="cleo")
    await service.settled()
    await service.delete("old", "gone")
    first = (await service.listed("home", "memories"))[0]["id"]
    await service.client.ok("DELETE", "/ns/home/memories", {"ids": [first]})
    await service.client.ok("PATCH", "/ns/home", {"supportingContext": "Letters"})
    await service.client.ok("PUT", "/ns/home/profile/buckets", {"buckets": {"music": "What is played"}})
    await service.client.ok("PATCH", "/organization", {"organizationalContext": "A school"})
    await service.client.ok("DELETE", "/ns/ended")
    await service.client.ok("DELETE", "/ns/old?moveTo=new")
    await service.settled()


async def replayed(service: World, path: str = "/admin/replay", **body: Any) -> Any:
    """A replay asked for over HTTP, when it has ended."""
    await service.client.ok("POST", path, body if path == "/admin/replay" else None)
    await service.replays.finished()
    return await service.client.ok("GET", "/admin/replay")


async def answers(service: World, name: str = "home") -> list[Any]:
    """What a search answers, without the time that it took."""
    return [(one["id"], one["similarity"]) for one in await service.search(name, QUESTION)]


async def rows_of(store: Store) -> Rows:
    """By table and id, each with all its fields as plain values."""
    spaces = [space for row in store.catalog.namespaces() for space in row.spaces]
    found: Rows = {}
    for table, rows in (
        ("document", await store.documents.in_spaces(spaces)),
        ("chunk", await store.chunks.in_spaces(spaces)),
        ("memory", await store.memories.in_spaces(spaces)),
        ("namespace", store.catalog.namespaces()),
        ("key", store.catalog.keys()),
        ("connector", store.catalog.connectors()),
    ):
        for row in rows:
            fields = row.model_dump() if hasattr(row, "model_dump") else asdict(row)
            identity = fields.get("key") or fields.get("id") or fields["name"]
            assert (table, identity) not in found, "a row is there twice"
            found[table, identity] = {name: _plain(value) for name, value in fields.items()}
    return found


def differences(before: Rows, after: Rows) -> list[str]:
    """What is otherwise, in words."""
    wrong = [f"{one} is lost: {before[one]}" for one in before.keys() - after.keys()]
    wrong += [f"{one} came: {after[one]}" for one in after.keys() - before.keys()]
    wrong += [
        f"{one}.{name}: {value!r} became {after[one][name]!r} in {before[one].get('text')!r}"
        for one in before.keys() & after.keys()
        for name, value in before[one].items()
        if value != after[one][name]
    ]
    return wrong


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else value
