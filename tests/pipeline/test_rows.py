"""String columns: reading one string or many at a time."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.columns import string_column


@given(st.data(), st.lists(st.text(max_size=6)), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_strings_read_together_equal_strings_read_singly(data: st.DataObject, values: list[str], cut: int) -> None:
    packed = string_column(values)
    part = type(packed)(packed.data, packed.offsets[cut:]) if cut <= len(values) else packed
    rows = data.draw(st.lists(st.integers(0, len(part) - 1)) if len(part) else st.just([]))
    chosen = np.array(rows, np.intp)
    assert part.take(chosen) == [part[row] for row in rows]
    assert part.count_spaces(chosen).tolist() == [part[row].count(" ") for row in rows]
