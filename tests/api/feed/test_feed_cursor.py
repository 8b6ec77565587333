"""Cursors of a feed: what they hold, and what is none."""

import pytest
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st

from api.feed.feed_cursor import CursorCipher, decode_cursor, encode_cursor

SOURCES = ("first", "second")
OFFSETS = st.integers(min_value=0, max_value=2**62)


@given(offsets=st.lists(OFFSETS, min_size=6, max_size=6))
def test_a_position_comes_back_as_it_was(offsets: list[int]) -> None:
    places = [(source, partition) for source in SOURCES for partition in range(3)]
    position = dict(zip(places, offsets, strict=True))
    cursor = encode_cursor(position, SOURCES, 3)
    assert cursor.replace("-", "").replace("_", "").isalnum()
    assert decode_cursor(cursor, SOURCES, 3) == position


@given(text=st.text(max_size=60))
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the message is for people; the type alone is asked for
        decode_cursor(text, SOURCES, 3)


def test_a_cursor_of_a_log_with_other_partitions_is_refused() -> None:
    cursor = encode_cursor({(source, 0): 7 for source in SOURCES}, SOURCES, 1)
    with pytest.raises(ValueError, match="another log"):
        decode_cursor(cursor, SOURCES, 2)


def test_an_encrypted_cursor_does_not_show_offsets_and_is_read_with_any_key() -> None:
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    sealed = CursorCipher(old).encrypt("AQID")
    assert "AQID" not in sealed
    assert sealed.replace("-", "").replace("_", "").isalnum()
    assert CursorCipher(f"{new},{old}").decrypt(sealed) == "AQID"
    with pytest.raises(ValueError, match="did not issue it"):
        CursorCipher(new).decrypt(sealed)
    assert CursorCipher(None).decrypt(CursorCipher(None).encrypt("AQID")) == "AQID"


@given(text=st.text(max_size=60))
def test_what_no_key_encrypted_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - as above
        CursorCipher(Fernet.generate_key().decode()).decrypt(text)
