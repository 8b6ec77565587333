"""Document rows as Arrow: what is stored of a document's content."""

import pytest

from pipeline.store.tables.document_table import codec
from schemas.events import BlobRef, Content
from tests.support.store_rows import document

CODEC = codec()
TEXT = "Rain is expected in the evening."


@pytest.mark.parametrize(
    "source",
    [
        None,
        Content(text=TEXT),
        Content(text="<p>Rain"),
        Content(text="text"),
        Content(blob=BlobRef(sha256="0" * 64, size=3)),
    ],
)
def test_content_is_read_as_it_was_written(source: Content | None) -> None:
    row = document("a", text=TEXT, source=source)
    assert CODEC.decode(CODEC.encode([row])) == [row]


def test_content_that_is_the_text_is_stored_once() -> None:
    stored = CODEC.encode([document("a", text=TEXT, source=Content(text=TEXT))])
    assert str(stored.to_pylist()[0]).count(TEXT) == 1


def test_a_row_read_without_its_texts_has_neither() -> None:
    stored = CODEC.encode([document("a", text=TEXT, source=Content(text=TEXT))])
    (row,) = CODEC.decode(stored.drop_columns(["text", "source", "recent"]))
    assert (row.text, row.source) == (None, None)
