"""Properties of a store (table format, embedder, layout, shards): recorded at creation, verified when it is opened."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from lancedb import AsyncConnection

from pipeline.store.lancedb.table_access import open_if_exists, open_or_create

_SCHEMA = pa.schema([pa.field("name", pa.string(), nullable=False), pa.field("value", pa.string())])
_FORMAT = "4"
_EARLIER_SHARED_FORMAT = "3"
"""Number that the same tables had where several processes share them."""

_log = logging.getLogger(__name__)


class StoreMismatchError(Exception):
    """The store was created with other settings or by another version; the message says what to do."""


@dataclass(frozen=True, slots=True)
class StoreProperties:
    """`dimensions` of every vector, `shards` of chunks and memories, and the embedder's name if known.

    `shared`: created for several processes; documents then have as many shards as chunks.
    """

    dimensions: int
    shards: int
    embedder: str | None = None
    shared: bool = False


async def create_or_verify_properties(connection: AsyncConnection, expected: StoreProperties) -> StoreProperties:
    """Record the properties of a new store, or verify an existing one, whose shards are kept."""
    table = await open_or_create(connection, "meta", _SCHEMA)
    rows = _by_name((await table.query().to_arrow()).to_pylist())
    if not rows:
        values = {
            "format": _FORMAT,
            "dimensions": str(expected.dimensions),
            "shards": str(expected.shards),
            "embedder": expected.embedder,
            "layout": _layout_name(expected),
        }
        await table.add(pa.table([list(values), list(values.values())], schema=_SCHEMA))
        return expected
    return _verify(rows, expected)


async def verify_properties(connection: AsyncConnection, expected: StoreProperties) -> StoreProperties | None:
    """Verify an existing store; None if there is none."""
    table = await open_if_exists(connection, "meta")
    rows = {} if table is None else _by_name((await table.query().to_arrow()).to_pylist())
    return _verify(rows, expected) if rows else None


def _by_name(rows: Sequence[Mapping[str, str]]) -> dict[str, str | None]:
    return {row["name"]: row["value"] for row in rows}


def _verify(rows: dict[str, str | None], expected: StoreProperties) -> StoreProperties:
    if rows.get("format") != _FORMAT and (rows.get("format"), rows.get("layout")) != (_EARLIER_SHARED_FORMAT, "shared"):
        raise StoreMismatchError(
            f"This data directory has table format {rows.get('format')}, but this version reads format "
            f"{_FORMAT} and cannot upgrade tables. Data of earlier versions needs new places: set "
            "RECOLLECT_DATA_DIR (and RECOLLECT_LANCE_URI, where it is set) to new ones and add the documents "
            "again."
        )
    actual = StoreProperties(
        int(rows["dimensions"] or 0), int(rows["shards"] or 1), rows.get("embedder"), rows.get("layout") == "shared"
    )
    _verify_layout(actual, expected)
    _verify_embedder(actual, expected)
    if actual.shards != expected.shards:
        _log.warning(
            "This store has %d shards; RECOLLECT_SHARDS=%d takes effect with `recollect replay`.",
            actual.shards, expected.shards,
        )  # fmt: skip
    return actual


def _verify_layout(actual: StoreProperties, expected: StoreProperties) -> None:
    if actual.shared != expected.shared:
        raise StoreMismatchError(
            f"This store was made for {_layout_name(actual)} use, but the settings ask for "
            f"{_layout_name(expected)} use: with RECOLLECT_KAFKA_BOOTSTRAP several processes share tables, "
            "without it one process owns them. Set RECOLLECT_LANCE_URI to a place for new tables, or move "
            "the data with `recollect export` and `recollect import`."
        )


def _verify_embedder(actual: StoreProperties, expected: StoreProperties) -> None:
    names_differ = None not in (actual.embedder, expected.embedder) and actual.embedder != expected.embedder
    if actual.dimensions != expected.dimensions or names_differ:
        raise StoreMismatchError(
            f"This store holds vectors of {_embedder_description(actual)}, but the settings ask for "
            f"{_embedder_description(expected)}. Set RECOLLECT_EMBEDDER (and its model and dimensions) back "
            "to what it was; once it runs, `recollect replay --stage embed "
            "--embedder NAME` makes tables with another one."
        )


def _layout_name(properties: StoreProperties) -> str:
    return "shared" if properties.shared else "exclusive"


def _embedder_description(properties: StoreProperties) -> str:
    return f"{properties.embedder or 'an embedder'} with {properties.dimensions} dimensions"
