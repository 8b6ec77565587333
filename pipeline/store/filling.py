"""A table for several processes, while one process alone fills it and nobody else knows of it."""

from collections.abc import Sequence
from typing import TypeVar

import pyarrow as pa

from pipeline.store.base import Base
from pipeline.store.codec import Codec
from pipeline.store.marked import Marked, marked, schema

Row = TypeVar("Row")

_EVER = 0
"""A stamp older than any version: whoever opens the table later reads such rows whole, and as no news."""


class FillingBase(Marked[Row], Base[Row]):
    """Written as fast as `Base` is, with rows that `SharedBase` reads. What goes is deleted at once."""

    @classmethod
    def schema(cls, codec: Codec[Row]) -> pa.Schema:
        return schema(codec)

    def _encode(self, rows: Sequence[Row]) -> pa.Table:
        return marked(super()._encode(rows), _EVER, gone=False)
