"""Every row of the generation that is served, to be compared with another one's."""

from dataclasses import asdict
from typing import Any

import numpy as np

from pipeline.store import Store

Rows = dict[tuple[str, str], dict[str, Any]]


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
