"""What a store was made with: a store of one embedder can't be served with another."""

import logging
from dataclasses import dataclass

import pyarrow as pa
from lancedb import AsyncConnection

from pipeline.store.tables import open_if_there, open_or_create

_SCHEMA = pa.schema([pa.field("name", pa.string(), nullable=False), pa.field("value", pa.string())])
_FORMAT = "1"

_log = logging.getLogger(__name__)


class StoreMismatchError(Exception):
    """The store was made with other settings than it is opened with; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Meta:
    """`dimensions` of every vector, `shards` of chunks and memories, and the embedder's name if known.

    `shared`: made for several processes, where documents have as many shards.
    """

    dimensions: int
    shards: int
    embedder: str | None = None
    shared: bool = False


async def agree(connection: AsyncConnection, wanted: Meta) -> Meta:
    """Record what a new store is made with, or check an old one. Shards stay what they were."""
    table = await open_or_create(connection, "meta", _SCHEMA)
    rows = {row["name"]: row["value"] for row in (await table.query().to_arrow()).to_pylist()}
    if not rows:
        values = {
            "format": _FORMAT,
            "dimensions": str(wanted.dimensions),
            "shards": str(wanted.shards),
            "embedder": wanted.embedder,
            "layout": _layout(wanted),
        }
        await table.add(pa.table([list(values), list(values.values())], schema=_SCHEMA))
        return wanted
    return _checked(rows, wanted)


async def agreement(connection: AsyncConnection, wanted: Meta) -> Meta | None:
    """As `agree`, but nothing is made: None where there is no store yet."""
    table = await open_if_there(connection, "meta")
    if table is None:
        return None
    rows = (await table.query().to_arrow()).to_pylist()
    return _checked({row["name"]: row["value"] for row in rows}, wanted) if rows else None


def _checked(rows: dict[str, str | None], wanted: Meta) -> Meta:
    if rows.get("format") != _FORMAT:
        raise StoreMismatchError(
            f"This store has format {rows.get('format')}, this version reads format {_FORMAT}. "
            "Run the version that wrote it, or rebuild the tables with `recollect replay`."
        )
    found = Meta(
        int(rows["dimensions"] or 0),
        int(rows["shards"] or 1),
        rows.get("embedder"),
        rows.get("layout") == "shared",
    )
    if found.shared != wanted.shared:
        raise StoreMismatchError(
            f"This store was made for {_layout(found)} use, but the settings ask for {_layout(wanted)} "
            "use: with RECOLLECT_KAFKA_BOOTSTRAP several processes share tables, without it one has them. "
            "Set RECOLLECT_LANCE_URI to a place for new tables, or move the data with `recollect export` and "
            "`recollect import`."
        )
    names_differ = None not in (found.embedder, wanted.embedder) and found.embedder != wanted.embedder
    if found.dimensions != wanted.dimensions or names_differ:
        raise StoreMismatchError(
            f"This store holds vectors of {_embedder(found)}, but the settings ask for {_embedder(wanted)}. "
            "Set RECOLLECT_EMBEDDER (and its model and dimensions) back to what it was; once it runs, "
            "`recollect replay --embedder ...` makes tables with another one."
        )
    if found.shards != wanted.shards:
        _log.warning(
            "This store has %d shards; RECOLLECT_SHARDS=%d takes effect with `recollect replay`.",
            found.shards, wanted.shards,
        )  # fmt: skip
    return found


def _layout(meta: Meta) -> str:
    return "shared" if meta.shared else "exclusive"


def _embedder(meta: Meta) -> str:
    return f"{meta.embedder or 'an embedder'} with {meta.dimensions} dimensions"
