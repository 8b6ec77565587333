"""The extract stage: append, replace, delete and failure, the same however often the log is read."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import reduce
from hashlib import sha256
from itertools import pairwise
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ParsingError, RejectedError, RetryableError
from pipeline.memory.versioning.fact_lookup import FactLookup
from pipeline.memory.versioning.memory_repository import MemoryRepository
from pipeline.ports import ParsedDocument
from pipeline.projection import apply_submission
from pipeline.rows import DocumentRow, MemoryRow
from pipeline.stage import Record
from pipeline.stages.extract_stage import ExtractStage, append_text, single_url
from pipeline.tombstones import LocalTombstones
from schemas.base import Metadata
from schemas.events import (
    BlobRef,
    Content,
    DocumentExtracted,
    DocumentSubmitted,
    NamespaceChanged,
    SettingsChanged,
    Upload,
)
from schemas.ids import document_key
from schemas.topics import DOCUMENTS_EXTRACTED, DOCUMENTS_SUBMITTED
from tests.support.fakes import (
    EPOCH,
    FakeBlobs,
    FakeCatalog,
    FakeChunkTable,
    FakeDocumentTable,
    FakeMemoryTable,
    HashingEmbedder,
    RecordingPublisher,
    hashed_terms,
    record,
)

pytestmark = pytest.mark.anyio
INCARNATION = "alice#0"
Operation = Literal["add", "patch", "replace", "delete"]


class PlainExtractor:
    """Takes texts as they are; files whose bytes say `bad` fail."""

    async def parse_file(self, data: bytes, upload: Upload) -> ParsedDocument:
        if data == b"bad":
            error = ParsingError("The file is damaged. Send it again.")
            error.document_type = "pdf"
            raise error
        return ParsedDocument(text=data.decode(errors="surrogatepass"), type="pdf", title=upload.filename)

    async def parse_text(self, text: str) -> ParsedDocument:
        return ParsedDocument(text=text, type="text", title=text[:10] or None)


class ScriptedFetcher:
    """Answers one after the other from a list."""

    def __init__(self, *answers: bytes | Exception) -> None:
        self.answers = list(answers)

    async def fetch(self, url: str) -> tuple[bytes, Upload]:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer, upload_of(answer, "page.html")


def upload_of(data: bytes, filename: str) -> Upload:
    return Upload(blob=BlobRef(sha256=sha256(data).hexdigest(), size=len(data)), filename=filename)


@dataclass
class StageHarness:
    """The stage with everything it touches."""

    fetcher: ScriptedFetcher = field(default_factory=ScriptedFetcher)
    documents: FakeDocumentTable = field(default_factory=FakeDocumentTable)
    chunks: FakeChunkTable = field(default_factory=FakeChunkTable)
    memories: FakeMemoryTable = field(default_factory=FakeMemoryTable)
    blobs: FakeBlobs = field(default_factory=FakeBlobs)
    tombstones: LocalTombstones = field(default_factory=LocalTombstones)
    catalog: FakeCatalog = field(default_factory=FakeCatalog)
    publisher: RecordingPublisher = field(default_factory=RecordingPublisher)

    def __post_init__(self) -> None:
        self.catalog.create("alice")
        self.stage = ExtractStage(
            documents=self.documents,
            chunks=self.chunks,
            memory_repository=MemoryRepository(self.memories, FactLookup(self.memories), self.catalog),
            blobs=self.blobs,
            catalog=self.catalog,
            publisher=self.publisher,
            document_parser=PlainExtractor(),
            url_fetcher=self.fetcher,
            summarize=lambda text: text[:3] or None,
            tombstones=self.tombstones,
            retry_delays=(0.0, 0.0),
        )

    async def handle_batch(self, *records: Record[DocumentSubmitted]) -> None:
        await self.stage.handle(records)

    async def apply_as_api(self, *records: Record[DocumentSubmitted]) -> None:
        """Do what the API does before the stage sees the records."""
        for submitted in records:

            def change(
                _: str, rows: list[DocumentRow], submitted: Record[DocumentSubmitted] = submitted
            ) -> Sequence[DocumentRow]:
                row = apply_submission(rows[0] if rows else None, submitted.event, submitted.offset)
                return [row] if row else []

            await self.documents.update([submitted.event.document], change)

    def row(self, id: str = "d") -> DocumentRow:  # noqa: A002 - the public id
        return self.documents.rows_by_key[document_key(INCARNATION, id)][0]

    def published(self) -> list[str | None]:
        return [event.text.text for event in self.published_texts()]

    def published_failures(self) -> list[str]:
        return [event.error for event in self.publisher.events(DOCUMENTS_EXTRACTED) if event.error]

    def published_texts(self) -> list[DocumentExtracted]:
        """Return what was published, without the failures."""
        return [event for event in self.publisher.events(DOCUMENTS_EXTRACTED) if event.error is None]


def submission(
    offset: int,
    operation: Operation = "add",
    text: str | None = None,
    *,
    id: str = "d",  # noqa: A002 - the public id
    upload: Upload | None = None,
    metadata: Metadata | None = None,
    incarnation: str = INCARNATION,
) -> Record[DocumentSubmitted]:
    event = DocumentSubmitted(
        operation=operation,
        incarnation=incarnation,
        document=document_key(incarnation, id),
        id=id,
        at=EPOCH + timedelta(seconds=offset),
        content=Content(text=text) if text is not None else None,
        upload=upload,
        metadata=metadata,
    )
    return record(DOCUMENTS_SUBMITTED, f"{incarnation}/{id}", event, offset)


async def test_a_new_document_gets_text_title_summary_and_is_handed_on() -> None:
    world = StageHarness()
    await world.handle_batch(submission(0, text="Rain is coming."))
    row = world.row()
    assert (row.status, row.text, row.text_seq, row.title, row.summary) == (
        "chunking",
        "Rain is coming.",
        0,
        "Rain is co",
        "Rai",
    )
    (event,) = world.publisher.events(DOCUMENTS_EXTRACTED)
    assert (event.seq, event.text.text, event.title) == (0, "Rain is coming.", "Rain is co")
    assert world.documents.pending == 0


async def test_a_batch_costs_a_handful_of_updates() -> None:
    world = StageHarness()
    await world.handle_batch(*(submission(n, text=f"text {n}", id=f"d{n}") for n in range(64)))
    assert len(world.documents.rows) == 64
    assert world.documents.updates <= 3


async def test_no_text_of_a_document_is_older_than_the_document_though_a_clock_was_set_back() -> None:
    world = StageHarness()
    await world.handle_batch(submission(0, text="Rain."))
    late = submission(1, text="Wind.")
    await world.handle_batch(replace(late, event=late.event.model_copy(update={"at": EPOCH - timedelta(hours=1)})))
    assert [event.at for event in world.published_texts()] == [EPOCH, EPOCH]


async def test_adding_to_a_document_appends_replaces_or_leaves_it() -> None:
    assert append_text("Rain.", "Wind.") == "Rain.\n\nWind."
    assert append_text("Rain.", "Rain. Wind.") == "Rain. Wind."
    assert append_text("Rain.", "Rain.") == "Rain."


async def test_content_that_comes_again_is_worked_on_again_whether_or_not_it_was_ready_by_then() -> None:
    world = StageHarness()
    await world.handle_batch(submission(0, text="Rain."))
    await world.apply_as_api(submission(1, "patch", text="Rain."))
    await world.handle_batch(submission(1, "patch", text="Rain."))
    assert world.published() == ["Rain.", "Rain."]
    assert (world.row().seq, world.row().content_seq) == (1, 1)


async def test_patched_metadata_leaves_the_text_alone() -> None:
    world = StageHarness()
    await world.handle_batch(submission(0, text="Rain."), submission(1, "patch", metadata={"a": 1}))
    assert (world.row().metadata, world.row().text) == ({"a": 1}, "Rain.")
    assert world.published() == ["Rain."]


async def test_what_nobody_owns_any_more_is_dropped() -> None:
    world = StageHarness()
    ended = NamespaceChanged(name="gone", epoch=1, incarnations=(), created_at=EPOCH, updated_at=EPOCH)
    world.catalog.apply(SettingsChanged(change=ended))
    await world.handle_batch(submission(0, text="Rain.", incarnation="gone#0"))
    assert not world.documents.rows
    assert not world.publisher.topics


@pytest.mark.parametrize("incarnation", ["never#0", "alice#1", "alice", "alice#x", ""])
async def test_what_was_never_anybodys_is_rejected_with_the_reason(incarnation: str) -> None:
    world = StageHarness()
    with pytest.raises(RejectedError, match="none ever had"):
        await world.handle_batch(submission(0, text="Rain.", incarnation=incarnation))
    assert not world.documents.rows


async def test_a_deleted_document_takes_its_chunks_and_lonely_memories_along() -> None:
    world = StageHarness()
    await world.handle_batch(submission(0, text="Rain."))
    key = document_key(INCARNATION, "d")
    (vector,) = await HashingEmbedder().embed_documents(["Rain"])
    for name, sources in (("only", (key,)), ("shared", (key, "other"))):
        row = MemoryRow(name, INCARNATION, name, sources, 0, EPOCH, EPOCH, vector, hashed_terms(name))
        world.memories.rows_by_key[name] = [row]
    await world.apply_as_api(submission(1, "delete"))
    await world.handle_batch(submission(1, "delete"))
    assert not world.documents.rows
    assert [(row.id, row.sources) for row in world.memories.rows] == [("shared", ("other",))]


async def test_what_was_deleted_ahead_of_the_log_does_not_come_back_before_the_log_says_so() -> None:
    world = StageHarness()
    first, again = submission(0, text="Rain."), submission(2, text="Wind.")
    await world.tombstones.record({first.event.document: 1})
    await world.handle_batch(first)
    assert world.documents.rows_by_key == {}
    await world.apply_as_api(again)
    await world.handle_batch(first)
    assert world.row().text is None
    await world.handle_batch(submission(1, "delete"), again)
    assert world.row().text == "Wind."
    assert world.published() == ["Wind."]


async def test_a_document_written_anew_does_not_inherit_the_deleted_text() -> None:
    history = [
        submission(0, text="A"),
        submission(1, text="B"),
        submission(2, "delete"),
        submission(3, text="C"),
    ]
    world = StageHarness()
    await world.apply_as_api(*history)
    for submitted in history:
        await world.handle_batch(submitted)
    assert world.row().text == "C"
    world = StageHarness()
    await world.handle_batch(*history)
    assert world.row().text == "C"


async def test_a_file_that_cannot_be_read_fails_its_document_with_the_reason() -> None:
    world = StageHarness()
    await world.blobs.put(b"bad", "application/pdf")
    await world.handle_batch(submission(0, upload=upload_of(b"bad", "x.pdf")), submission(1, text="fine", id="other"))
    assert (world.row().status, world.row().error) == ("failed", "The file is damaged. Send it again.")
    assert not world.row().extraction_pending
    assert world.row("other").status == "chunking"
    assert world.published() == ["fine"]
    assert world.published_failures() == ["The file is damaged. Send it again."]


async def test_a_file_that_cannot_be_read_shows_what_it_is() -> None:
    world = StageHarness()
    await world.blobs.put(b"bad", "application/pdf")
    await world.handle_batch(submission(0, upload=upload_of(b"bad", "x.pdf")))
    assert (world.row().type, world.row().text) == ("pdf", None)


async def test_halves_of_characters_and_nul_in_a_file_are_replaced() -> None:
    world = StageHarness()
    data = "I live in \ud83d Rome\x00.".encode(errors="surrogatepass")
    await world.blobs.put(data, "application/json")
    await world.handle_batch(submission(0, upload=upload_of(data, "a\udc00.json")))
    assert world.published() == ["I live in \ufffd Rome\ufffd."]
    assert (world.row().status, world.row().title) == ("chunking", "a\ufffd.json")


async def test_a_missing_file_fails_its_document() -> None:
    world = StageHarness()
    await world.handle_batch(submission(0, upload=upload_of(b"lost", "x.pdf")))
    assert world.row().status == "failed"
    assert "missing" in (world.row().error or "")


async def test_a_url_is_fetched_and_tried_again_when_it_may_work_later() -> None:
    world = StageHarness(ScriptedFetcher(RetryableError("503"), b"The page."))
    await world.handle_batch(submission(0, text=" https://example.com/a "))
    assert (world.row().text, world.row().url) == ("The page.", "https://example.com/a")


async def test_a_secret_in_a_url_is_not_shown() -> None:
    for answer in (b"The page.", ParsingError("Not public.")):
        world = StageHarness(ScriptedFetcher(answer))
        await world.handle_batch(submission(0, text="https://example.com/a?X-Amz-Signature=s3cret"))
        assert world.row().url == "https://example.com/a?X-Amz-Signature=***"
        assert "s3cret" not in repr(world.publisher.events(DOCUMENTS_EXTRACTED))


async def test_a_url_that_never_answers_fails_its_document_after_bounded_tries() -> None:
    world = StageHarness(ScriptedFetcher(*[RetryableError("example.com answered 503.")] * 3))
    await world.handle_batch(submission(0, text="https://example.com/a"))
    assert (world.row().status, world.row().error) == ("failed", "example.com answered 503.")


async def test_a_url_that_cannot_be_fetched_is_shown_as_the_documents() -> None:
    for failure in (ParsingError("Not public."), RetryableError("503")):
        world = StageHarness(ScriptedFetcher(*[failure] * 3))
        await world.handle_batch(submission(0, text=" https://example.com/a\n"))
        assert (world.row().status, world.row().url) == ("failed", "https://example.com/a")


async def test_the_text_that_is_still_shown_is_handed_on_again_when_what_came_after_it_fails() -> None:
    world = StageHarness(ScriptedFetcher(ParsingError("Not public."), ParsingError("Not public.")))
    late = submission(1, "patch", "https://example.com/a")
    await world.handle_batch(submission(0, text="Rain."))
    await world.apply_as_api(late)  # from here on the next stages drop the first text
    await world.handle_batch(late)
    row = world.row()
    assert (row.status, row.text, row.title, row.url) == ("failed", "Rain.", "Rain.", None)
    assert (row.searchable_seq, row.extraction_pending) == (0, True)
    assert [event.seq for event in world.published_texts()] == [0, 0]
    await world.handle_batch(late)
    assert world.published() == ["Rain."] * 3


async def test_a_text_and_a_failure_that_come_together_are_handed_on_once() -> None:
    world = StageHarness(ScriptedFetcher(ParsingError("Not public.")))
    await world.handle_batch(submission(0, text="Rain."), submission(1, "patch", "https://example.com/a"))
    assert [event.seq for event in world.published_texts()] == [0]


async def test_a_replaced_document_shows_what_it_was_until_the_new_text_is_there() -> None:
    world = StageHarness(ScriptedFetcher(b"The page.", ParsingError("Not public.")))
    await world.handle_batch(submission(0, text="https://example.com/a"))
    before = world.row()
    await world.handle_batch(submission(1, "replace", "https://example.com/b", metadata={"a": 1}))
    row = world.row()
    assert (row.status, row.metadata) == ("failed", {"a": 1})
    assert (row.text, row.type, row.title, row.summary, row.url) == (
        before.text, before.type, before.title, before.summary, before.url,
    )  # fmt: skip


def test_only_a_single_url_is_fetched() -> None:
    assert single_url("http://example.com/a?b=c") == "http://example.com/a?b=c"
    for text in ("see http://example.com", "http://a.b http://c.d", "ftp://a.b", "http://", "text"):
        assert single_url(text) is None


async def test_a_text_that_was_stored_but_not_published_is_published_again() -> None:
    world = StageHarness()
    record = submission(0, text="Rain.")
    await world.handle_batch(record)
    world.publisher.topics.clear()
    await world.handle_batch(record)
    assert world.published() == ["Rain."]


contents = st.sampled_from(["", "a", "b", "a\n\nb", "ab", "c"])
steps = st.lists(
    st.tuples(st.sampled_from(["add", "add", "add", "patch", "replace", "delete", "meta"]), contents),
    max_size=8,
)


def to_submissions(choices: list[tuple[str, str]]) -> list[Record[DocumentSubmitted]]:
    made: list[Record[DocumentSubmitted]] = []
    operations: dict[str, Operation] = {
        "add": "add",
        "patch": "patch",
        "replace": "replace",
        "delete": "delete",
    }
    for offset, (step, text) in enumerate(choices):
        if step == "meta":
            made.append(submission(offset, "patch", metadata={"n": offset}))
        else:
            made.append(submission(offset, operations[step], None if step == "delete" else text))
    return made


def sequential_text(
    state: tuple[str | None, frozenset[str]], record: Record[DocumentSubmitted]
) -> tuple[str | None, frozenset[str]]:
    """The rule, one submission after the other: the text and what was added to the document, seconds apart."""
    text, added = state
    event = record.event
    if event.operation == "delete":
        return None, frozenset()
    if event.content is None:
        return text or "", added
    new = event.content.text or ""
    if event.operation != "add":
        return new, added
    if new in added:
        return text, added
    return append_text(text, new) if text else new, added | {new}


@given(choices=steps, cuts=st.lists(st.integers(0, 8)), ahead=st.integers(0, 8), again=st.integers(0, 8))
@settings(max_examples=150, deadline=None)
async def test_any_history_in_any_batches_gives_the_sequential_text_and_redelivery_changes_nothing(
    choices: list[tuple[str, str]], cuts: list[int], ahead: int, again: int
) -> None:
    history = to_submissions(choices)
    world = StageHarness()
    await world.apply_as_api(*history[:ahead])
    bounds = sorted({0, len(history), *(cut for cut in cuts if cut <= len(history))})
    for start, end in pairwise(bounds):
        await world.apply_as_api(*history[start : max(end, ahead)])
        await world.handle_batch(*history[start:end])
    nothing: tuple[str | None, frozenset[str]] = (None, frozenset())
    expected, _ = reduce(sequential_text, history, nothing)
    rows = world.documents.rows
    assert (rows[0].text if rows else None) == expected
    before = list(rows)
    if history[again:]:
        await world.handle_batch(*history[again:])
    assert world.documents.rows == before
    newest = [
        event for event in world.publisher.events(DOCUMENTS_EXTRACTED) if rows and event.seq == rows[0].content_seq
    ]
    assert not rows or newest[-1].text.text == expected


async def test_a_repetition_between_two_additions_of_one_batch_adds_nothing() -> None:
    world = StageHarness()
    await world.handle_batch(submission(0, text="One."), submission(1, text="One."), submission(2, text="Two."))
    assert world.row().text == "One.\n\nTwo."


async def test_a_former_owner_of_the_partition_does_not_restore_a_deleted_document() -> None:
    world = StageHarness()
    await world.handle_batch(submission(0, text="One."), submission(1, "delete"))
    await world.handle_batch(submission(0, text="One."))
    assert not world.documents.rows_by_key.get(document_key(INCARNATION, "d"))


async def test_what_a_former_owner_writes_while_its_document_is_deleted_is_never_shown() -> None:
    world = StageHarness()
    old, deletion = submission(0, text="One."), submission(1, "delete")
    shown: list[str] = []
    world.documents.subscribe(lambda changed: shown.extend(row.id for rows in changed.values() for row in rows))
    update = world.documents.update

    async def delete_first(*arguments: Any) -> dict[str, list[DocumentRow]]:
        """Let the new owner delete the document before the update that the former one has decided on."""
        world.documents.update = update  # type: ignore[method-assign]
        await world.handle_batch(deletion)
        return await update(*arguments)

    world.documents.update = delete_first  # type: ignore[assignment,method-assign]
    await world.handle_batch(old)
    assert shown == []
    assert not world.documents.rows
