"""Sealed values: opened with their key alone, and as long as nobody changed them."""

from hypothesis import given
from hypothesis import strategies as st

from pipeline.sealed_value import open_sealed, seal

KEYS = st.binary(min_size=32, max_size=32)


@given(KEYS, st.binary())
def test_a_value_is_opened_with_its_key(key: bytes, value: bytes) -> None:
    assert open_sealed(key, seal(key, value)) == value


@given(KEYS, KEYS, st.binary())
def test_another_key_opens_nothing(key: bytes, other: bytes, value: bytes) -> None:
    assert (open_sealed(other, seal(key, value)) is None) == (key != other)


@given(KEYS, st.binary(), st.data())
def test_a_changed_value_is_not_opened(key: bytes, value: bytes, data: st.DataObject) -> None:
    sealed = bytearray(seal(key, value))
    sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= 1
    assert open_sealed(key, bytes(sealed)) is None


def test_the_same_value_is_sealed_differently_each_time() -> None:
    assert seal(bytes(32), b"tea") != seal(bytes(32), b"tea")
