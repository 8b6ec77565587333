"""Codecs of the tables with one row per key: operations, answers, sync runs, tombstones."""

import pyarrow as pa
from pydantic import TypeAdapter

from pipeline.rows import AnswerRow, OperationRow, SyncRunsRow
from pipeline.store.lancedb.row_codec import TIMESTAMP, RowCodec
from pipeline.store.tables.table_columns import keyed_codec, parsed_column, plain_columns
from pipeline.store.tables.tombstones_table import TombstoneRow
from schemas.events import SyncReported

_RUNS_ADAPTER = TypeAdapter(tuple[SyncReported, ...])


def operations_codec() -> RowCodec[OperationRow]:
    columns = [
        *plain_columns(pa.string(), "id", "kind", "source", "target", "status", "error"),
        *plain_columns(TIMESTAMP, "created_at", "updated_at"),
    ]
    return keyed_codec("operations", "id", columns, OperationRow)


def answers_codec() -> RowCodec[AnswerRow]:
    columns = [
        *plain_columns(pa.string(), "key", "request", "body"),
        *plain_columns(pa.int64(), "status"),
        *plain_columns(TIMESTAMP, "at"),
    ]
    return keyed_codec("answers", "key", columns, AnswerRow, short_lived=True)


def sync_runs_codec() -> RowCodec[SyncRunsRow]:
    """Latest sync runs by connector."""
    columns = [
        *plain_columns(pa.string(), "connector"),
        parsed_column("runs", lambda row: _RUNS_ADAPTER.dump_json(row.runs).decode(), _RUNS_ADAPTER.validate_json, ()),
        *plain_columns(TIMESTAMP, "succeeded_at"),
    ]
    return keyed_codec("syncs", "connector", columns, SyncRunsRow)


def tombstones_codec() -> RowCodec[TombstoneRow]:
    """Deleted documents by key."""
    columns = [
        *plain_columns(pa.string(), "key"),
        *plain_columns(pa.int64(), "seq"),
    ]
    return keyed_codec("tombstones", "key", columns, TombstoneRow, short_lived=True)
