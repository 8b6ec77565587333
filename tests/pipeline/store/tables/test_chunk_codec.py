"""Chunk rows as Arrow: how vectors and terms are stored."""

from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
import pytest

from pipeline.store.store_factory import open_store
from pipeline.store.tables.chunk_table import codec, decode
from tests.support.store_rows import DIMENSIONS, chunk

pytestmark = pytest.mark.anyio
CODEC = codec(DIMENSIONS)


def test_vectors_are_stored_in_half_precision_and_read_in_single_precision() -> None:
    vector = np.linspace(-1, 1, DIMENSIONS, dtype=np.float32)
    stored = CODEC.encode([chunk("a", 0, vector=vector)])
    (row,) = decode(stored)
    assert stored.schema.field("vector").type.value_type == pa.float16()
    assert row.vector.dtype == np.float32
    assert row.vector.tolist() == vector.astype(np.float16).tolist()


def test_terms_are_stored_in_order_so_that_repetitions_take_little_space() -> None:
    stored = CODEC.encode(
        [chunk("a", 0, terms=np.array([7, 1, 7], np.uint32)), chunk("a", 1, terms=np.array([], np.uint32))]
    )
    assert [row.terms.tolist() for row in decode(stored)] == [[1, 7, 7], []]


async def test_tables_of_earlier_versions_are_read_and_written_with_their_single_precision(tmp_path: Path) -> None:
    earlier = CODEC.schema.set(
        CODEC.schema.get_field_index("vector"),
        pa.field("vector", pa.list_(pa.float32(), DIMENSIONS), nullable=False),
    )
    database = await lancedb.connect_async(tmp_path)
    table = await database.create_table("chunks", schema=earlier)
    await table.add(CODEC.encode([chunk("a", 1)]).cast(earlier))

    store = await open_store(str(tmp_path), dimensions=DIMENSIONS, shards=1)
    await store.chunks.update(["a", "b"], lambda key, _: [chunk(key, number) for number in (1, 2)])
    await store.chunks.flush()
    columns = [part async for part in store.chunks.stream(["alice#0"])]
    assert sorted(float(vector[0]) for part in columns for vector in part.vectors) == [1.0, 1.0, 2.0, 2.0]
    assert (await (await database.open_table("chunks")).schema()).field("vector").type.value_type == pa.float32()
