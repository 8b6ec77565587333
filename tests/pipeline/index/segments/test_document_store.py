"""Document store: nothing is lost while documents are packed, and where they can't be written."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.doubles.sample_rows import document_row
from pipeline.errors import OutageError
from pipeline.index.segments import document_store
from pipeline.index.segments.document_store import DocumentStore, StoredDocument, document_columns
from pipeline.index.segments.mmap_store import Arrays, MmapStore
from pipeline.rows import DocumentRow
from tests.support.index_harness import INCARNATION


@dataclass(frozen=True, slots=True)
class WatchedMmapStore(MmapStore):
    """Notes what a search would see of every document while files are written; `full`: they can't be."""

    side: DocumentStore
    full: bool = False
    seen: list[list[StoredDocument | None]] = field(default_factory=list)

    def spill(self, arrays: Arrays) -> Arrays:
        self.seen.append(_documents_in(self.side))
        if self.full:
            raise OutageError("No space left on device")
        return MmapStore.spill(self, arrays)


def _row(key: str) -> DocumentRow:
    return document_row(key, INCARNATION, title=f"of {key}")


def _documents_in(side: DocumentStore) -> list[StoredDocument | None]:
    return [side.get(at) for at in range(1, len(side.present))]


@pytest.fixture
def side(monkeypatch: pytest.MonkeyPatch) -> DocumentStore:
    """Documents that are packed as soon as three have changed."""
    monkeypatch.setattr(document_store, "_MAX_OVERRIDES", 2)
    return DocumentStore(document_columns([_row("a"), _row("b")]))


def test_a_search_sees_every_document_while_they_are_packed(side: DocumentStore, tmp_path: Path) -> None:
    shelf = WatchedMmapStore(tmp_path, side)
    side.spill_to_disk(shelf)
    for changed in (["c", "d"], ["b", "e"], ["a", "b", "c"], ["a", "d", "e", "f"]):
        side.apply({key: [_row(key)] for key in changed})
    assert len(shelf.seen) > 2
    for seen in [*shelf.seen, _documents_in(side)]:
        assert [document.title for document in seen if document] == [f"of {key}" for key in "abcdef"[: len(seen)]]


def test_a_full_disk_loses_no_document_and_is_tried_again(side: DocumentStore, tmp_path: Path) -> None:
    with pytest.raises(OutageError, match="No space"):
        side.spill_to_disk(WatchedMmapStore(tmp_path, side, full=True))
    assert not side.is_spilled
    side.spill_to_disk(MmapStore(tmp_path))
    side._mmap_store = WatchedMmapStore(tmp_path, side, full=True)
    with pytest.raises(OutageError, match="No space"):
        side.apply({key: [_row(key)] for key in "cde"})
    side._mmap_store = MmapStore(tmp_path)
    assert [document.title for document in _documents_in(side) if document] == [f"of {key}" for key in "abcde"]
    side.apply({"f": [_row("f")]})
    assert [document.title for document in _documents_in(side) if document] == [f"of {key}" for key in "abcdef"]
    assert side._overrides == {}
