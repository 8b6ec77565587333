"""Shared table while one process fills it and no other knows of it yet."""

from collections.abc import Sequence

import pyarrow as pa

from pipeline.ports import Row
from pipeline.store.lancedb.row_codec import RowCodec
from pipeline.store.multi_process.version_stamped_table import VersionStampedTable, schema, with_version_columns
from pipeline.store.single_process.exclusive_lance_table import ExclusiveLanceTable

_OLDEST_VERSION = 0
"""Older than any version: processes that open the table later read such rows as already seen."""


class BulkLoadTable(VersionStampedTable[Row], ExclusiveLanceTable[Row]):
    """Writes as fast as `ExclusiveLanceTable`, with rows that `SharedLanceTable` reads.

    Deleted rows are removed at once, without a tombstone.
    """

    @classmethod
    def schema(cls, codec: RowCodec[Row]) -> pa.Schema:
        return schema(codec)

    def _encode(self, rows: Sequence[Row]) -> pa.Table:
        return with_version_columns(super()._encode(rows), _OLDEST_VERSION, deleted=False)
