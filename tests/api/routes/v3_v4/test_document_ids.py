"""Document ids of v3 lead to row keys and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.routes.v3_v4.document_ids import custom_id_of, decode_document_id, encode_document_id
from schemas.ids import content_id
from tests.support.store_rows import document


@given(st.binary(min_size=16, max_size=16))
def test_an_id_has_22_characters_and_leads_back_to_its_key(key: bytes) -> None:
    encoded = encode_document_id(key.hex())
    assert len(encoded) == 22
    assert decode_document_id(encoded) == key.hex()


@given(st.text(max_size=30))
def test_any_other_text_is_no_row_key_or_one_of_16_bytes(text: str) -> None:
    key = decode_document_id(text)
    assert key is None or len(bytes.fromhex(key)) == 16


@pytest.mark.parametrize(
    ("public_id", "shown"), [("note-1", "note-1"), (content_id("alice", "Some text.", None, None), None)]
)
def test_only_an_id_that_a_client_chose_is_shown_as_custom(public_id: str, shown: str | None) -> None:
    assert custom_id_of(document(public_id)) == shown
