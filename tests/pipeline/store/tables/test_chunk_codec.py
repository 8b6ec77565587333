"""Chunk rows as Arrow: how vectors and terms are stored."""

import numpy as np
import pyarrow as pa

from pipeline.packed_vectors import round_vector
from pipeline.store.tables.chunk_table import codec
from tests.support.store_rows import DIMENSIONS, chunk

CODEC = codec(DIMENSIONS)


def test_vectors_are_stored_with_a_byte_for_each_number_and_read_in_single_precision() -> None:
    vector = np.linspace(-1, 1, DIMENSIONS, dtype=np.float32)
    stored = CODEC.encode([chunk("a", 0, vector=vector)])
    (row,) = CODEC.decode(stored)
    assert stored.schema.field("vector").type == pa.list_(pa.int8(), DIMENSIONS + 4)
    assert row.vector.dtype == np.float32
    assert row.vector.tolist() == round_vector(vector).tolist()


def test_terms_are_stored_in_order_so_that_repetitions_take_little_space() -> None:
    stored = CODEC.encode(
        [chunk("a", 0, terms=np.array([7, 1, 7], np.uint32)), chunk("a", 1, terms=np.array([], np.uint32))]
    )
    assert [row.terms.tolist() for row in CODEC.decode(stored)] == [[1, 7, 7], []]
