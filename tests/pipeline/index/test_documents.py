"""What is known of documents stays known while they are packed, and where they can't be written."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pipeline.columns import document_columns
from pipeline.errors import OutageError
from pipeline.index import documents
from pipeline.index.documents import DocumentFacts, DocumentSide
from pipeline.index.shelf import Arrays, Shelf
from pipeline.rows import DocumentRow
from tests.pipeline.index.world import NOW, SPACE


@dataclass(frozen=True, slots=True)
class WatchedShelf(Shelf):
    """Notes what a search would see of every document while files are written; `full`: they can't be."""

    side: DocumentSide
    full: bool = False
    seen: list[list[DocumentFacts | None]] = field(default_factory=list)

    def put(self, arrays: Arrays) -> Arrays:
        self.seen.append(_known(self.side))
        if self.full:
            raise OutageError("No space left on device")
        return Shelf.put(self, arrays)


def _row(key: str) -> DocumentRow:
    return DocumentRow(
        key=key, space=SPACE, id=key, seq=1, content_seq=1, created_at=NOW, updated_at=NOW, title=f"of {key}"
    )


def _known(side: DocumentSide) -> list[DocumentFacts | None]:
    return [side.facts(at) for at in range(1, len(side.present))]


@pytest.fixture
def side(monkeypatch: pytest.MonkeyPatch) -> DocumentSide:
    """Documents that are packed as soon as three have changed."""
    monkeypatch.setattr(documents, "_CHANGES", 2)
    return DocumentSide(document_columns([_row("a"), _row("b")]))


def test_a_search_sees_every_document_while_they_are_packed(side: DocumentSide, tmp_path: Path) -> None:
    shelf = WatchedShelf(tmp_path, side)
    side.shelve(shelf)
    for changed in (["c", "d"], ["b", "e"], ["a", "b", "c"], ["a", "d", "e", "f"]):
        side.apply({key: [_row(key)] for key in changed})
    assert len(shelf.seen) > 2
    for seen in [*shelf.seen, _known(side)]:
        assert [one.title for one in seen if one] == [f"of {key}" for key in "abcdef"[: len(seen)]]


def test_a_full_disk_loses_no_document_and_is_tried_again(side: DocumentSide, tmp_path: Path) -> None:
    with pytest.raises(OutageError, match="No space"):
        side.shelve(WatchedShelf(tmp_path, side, full=True))
    assert not side.shelved
    side.shelve(Shelf(tmp_path))
    side._shelf = WatchedShelf(tmp_path, side, full=True)
    with pytest.raises(OutageError, match="No space"):
        side.apply({key: [_row(key)] for key in "cde"})
    side._shelf = Shelf(tmp_path)
    assert [one.title for one in _known(side) if one] == [f"of {key}" for key in "abcde"]
    side.apply({"f": [_row("f")]})
    assert [one.title for one in _known(side) if one] == [f"of {key}" for key in "abcdef"]
    assert side._changed == {}
