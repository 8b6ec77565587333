"""A service to be replayed, and every row of the generation that is served, to be compared with another's."""

from dataclasses import asdict
from typing import Any

import numpy as np

from pipeline.store import Store
from tests.support.service_world import RunningService

SAMPLE_QUERY = "Where does Ada live?"
Rows = dict[tuple[str, str], dict[str, Any]]


async def fill_with_samples(service: RunningService) -> None:
    """Several of everything that a log may hold."""
    await service.add_document("home", "Ada lives in Berlin. She plays the cello.", id="ada", metadata={"k": [" "]})
    await service.wait_idle()
    await service.add_document("home", "Ada lives in Lisbon.", id="ada")
    await service.add_document("home", "Ada lives in Lisbon.", id="moved")
    await service.add_document("home", "Ada likes tea.", id="tea", taskType="superrag")
    await service.wait_idle()
    await service.add_document("old", "Bob collects old maps. " * 20, id="bob", metadata={"n": 1}, dreaming="dynamic")
    await service.add_document("old", "Bob bakes bread.", id="gone")
    await service.add_document("ended", "Cleo lives in Oslo.", id="cleo")
    await service.wait_idle()
    await service.delete_documents("old", "gone")
    first = (await service.list_items("home", "memories"))[0]["id"]
    await service.client.ok("DELETE", "/ns/home/memories", {"ids": [first]})
    await service.client.ok("PATCH", "/ns/home", {"supportingContext": "Letters"})
    await service.client.ok("PUT", "/ns/home/profile/buckets", {"buckets": {"music": "What is played"}})
    await service.client.ok("PATCH", "/organization", {"organizationalContext": "A school"})
    await service.client.ok("DELETE", "/ns/ended")
    await service.client.ok("DELETE", "/ns/old?moveTo=new")
    await service.wait_idle()


async def run_replay(service: RunningService, path: str = "/admin/replay", **body: Any) -> Any:
    """A replay asked for over HTTP, when it has ended."""
    await service.client.ok("POST", path, body if path == "/admin/replay" else None)
    await service.replays.wait_finished()
    return await service.client.ok("GET", "/admin/replay")


async def search_scores(service: RunningService, name: str = "home") -> list[Any]:
    """Ids and similarities of a search."""
    return [(result["id"], result["similarity"]) for result in await service.search(name, SAMPLE_QUERY)]


async def read_all_rows(store: Store) -> Rows:
    """Rows by table and id, with all fields as plain values."""
    incarnations = store.catalog.incarnations()
    found: Rows = {}
    for table, rows in (
        ("document", await store.documents.list_rows(incarnations)),
        ("chunk", await store.chunks.list_rows(incarnations)),
        ("memory", await store.memories.list_rows(incarnations)),
        ("namespace", list(store.catalog.namespaces())),
        ("key", store.catalog.keys()),
        ("connector", store.catalog.connectors()),
    ):
        for row in rows:
            fields = row.model_dump() if hasattr(row, "model_dump") else asdict(row)
            identity = fields.get("key") or fields.get("id") or fields["name"]
            assert (table, identity) not in found, "a row is there twice"
            found[table, identity] = {name: _to_plain_value(value) for name, value in fields.items()}
    return found


def row_differences(before: Rows, after: Rows) -> list[str]:
    """Describe each difference in a sentence."""
    wrong = [f"{key} is lost: {before[key]}" for key in before.keys() - after.keys()]
    wrong += [f"{key} came: {after[key]}" for key in after.keys() - before.keys()]
    wrong += [
        f"{key}.{name}: {value!r} became {after[key][name]!r} in {before[key].get('text')!r}"
        for key in before.keys() & after.keys()
        for name, value in before[key].items()
        if value != after[key][name]
    ]
    return wrong


def _to_plain_value(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else value
