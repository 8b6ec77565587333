"""Records are indexed under the documents, incarnations and blobs that they are about."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from pipeline.bus.records import SEALED_HEADER, ErasedRecordError, RawRecord
from pipeline.erasure.record_references import RecordReferences, references_of
from schemas.base import Event
from schemas.events import (
    BlobRef,
    Content,
    DocumentExtracted,
    DocumentSubmitted,
    FormedMemory,
    MemoriesForgotten,
    MemoriesFormed,
)
from schemas.topics import (
    DOCUMENTS_EXTRACTED,
    DOCUMENTS_SUBMITTED,
    MEMORIES_FORGOTTEN,
    MEMORIES_FORMED,
    RECALLS_RECORDED,
)

NOW = datetime(2026, 11, 27, tzinfo=UTC)
DIGEST = "ab" * 32
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20) | st.just('{"incarnation":"x#0","document":"other"')


def _references(topic: str, key: str, value: Event | bytes, **headers: str) -> RecordReferences | None:
    body = value if isinstance(value, bytes) else value.model_dump_json().encode()
    return references_of(RawRecord(topic, 0, 7, key.encode(), body, headers, NOW))


@given(TEXTS, TEXTS)
def test_memories_belong_to_their_document_whatever_its_name_and_they_say(document: str, text: str) -> None:
    memories = (FormedMemory(id="m", text=text),)
    event = MemoriesFormed(incarnation="home#0", document=document, seq=1, at=NOW, memories=memories)
    for name in (MEMORIES_FORMED.name, MEMORIES_FORMED.dead_letter_topic):
        found = _references(name, "home#0", event)
        assert found is not None
        assert found.documents == {f"home#0/{document}".encode()}


def test_a_forgetting_belongs_to_every_document_that_stated_the_memories() -> None:
    sources = {"m": {"a": 1, "b": 2}, "n": {"b": 2}}
    event = MemoriesForgotten(incarnation="home#0", ids=("m", "n"), at=NOW, sources=sources)
    found = _references(MEMORIES_FORGOTTEN.name, "home#0", event)
    assert found is not None
    assert found.documents == {b"home#0/a", b"home#0/b"}


def test_a_text_in_a_blob_needs_it() -> None:
    text = Content(blob=BlobRef(sha256=DIGEST, size=1))
    event = DocumentExtracted(incarnation="home#0", document="d", id="d", seq=1, at=NOW, text=text, type="text")
    found = _references(DOCUMENTS_EXTRACTED.name, "home#0/d", event)
    assert found is not None
    assert (set(found.documents), set(found.blobs), found.deletes_before) == ({b"home#0/d"}, {DIGEST}, None)


def test_a_deletion_counts_from_where_it_first_was() -> None:
    event = DocumentSubmitted(operation="delete", incarnation="home#0", document="d", id="d", at=NOW)
    place = {"redriven-partition": "0", "redriven-offset": "3"}
    for headers, before in (({}, 7), (place, 3)):
        found = _references(DOCUMENTS_SUBMITTED.name, "home#0/d", event, **headers)
        assert found is not None
        assert found.deletes_before == before


def test_a_text_that_looks_like_a_deletion_is_none() -> None:
    text = Content(text='"operation":"delete"')
    event = DocumentSubmitted(operation="add", incarnation="home#0", document="d", id="d", at=NOW, content=text)
    found = _references(DOCUMENTS_SUBMITTED.name, "home#0/d", event)
    assert found is not None
    assert found.deletes_before is None


def test_what_belongs_to_a_namespace_only_goes_with_it() -> None:
    found = _references(RECALLS_RECORDED.name, "home#0", b"{}")
    assert found is not None
    assert (found.incarnation, found.documents) == ("home#0", frozenset())


def test_damaged_keys_and_erased_records_are_not_indexed() -> None:
    def erased(_: RawRecord) -> bytes:
        raise ErasedRecordError("gone")

    assert _references(DOCUMENTS_SUBMITTED.name, "damaged", b"{}") is None
    record = RawRecord(DOCUMENTS_EXTRACTED.name, 0, 7, b"home#0/d", b"x", {SEALED_HEADER: "5f/1"}, NOW, erased)
    assert references_of(record) is None
