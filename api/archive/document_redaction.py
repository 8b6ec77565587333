"""Redaction: forget memories, and take the sentences that state them out of their documents.

A redacted document is deleted and submitted anew in one step, as an import would: with its text, times and memories,
but for what was taken out. So a replay gives the same, and an erasure removes the old text from log and files.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from api.archive.exporter import exported_document
from api.archive.importer import imported_memory, submission_events
from api.commands.document_submission import delete_documents, resubmit_document
from api.commands.memory_forgetting import forget_by_ids
from api.dependencies.app_state import AppState
from pipeline.erasure.redacted_text import RedactedText, Span, is_in, redact, whole_sentences
from pipeline.memory.versioning.provenance import provenance_of
from pipeline.memory.versioning.truth_maintenance import premises
from pipeline.parsing.document_titles import document_title
from pipeline.parsing.extractive_summary import summarize
from pipeline.rows import DocumentRow, MemoryRow
from schemas.events import DocumentSubmitted, FormedMemory
from schemas.http.extensions.correction_bodies import RedactedDocument, RedactionResponse
from schemas.http.v5.memory_bodies import ForgetError, ForgetMatch


@dataclass(frozen=True, slots=True)
class _Plan:
    """A document, its memories, what it is without some sentences, and the memories that these state."""

    document: DocumentRow
    memories: Sequence[MemoryRow]
    sentences: Sequence[str]
    redacted: RedactedText
    unstated: frozenset[str]


async def redact_memories(
    state: AppState, namespace_name: str, ids: Sequence[str], *, dry_run: bool
) -> RedactionResponse:
    """Forget memories and take their sentences out of all documents; a dry run only shows both.

    Raises:
        ConflictError: a document was changed at the same time.
    """
    rows = await state.find_memories(namespace_name, dict.fromkeys(ids).keys())
    problems = {id_: f"There is no such memory in {namespace_name}" for id_ in ids if id_ not in rows}
    if not dry_run:
        # At once, and also what can't be taken out.
        await _hide(state, namespace_name, rows.values())
    plans = await _plan(state, rows, problems)
    gone = _gone(plans)
    if not dry_run:
        for plan in plans:
            await _carry_out(state, namespace_name, plan, gone)
    matches = {memory.id: memory for plan in plans for memory in plan.memories if memory.id in gone}
    return RedactionResponse(
        count=len(matches),
        documents=[
            RedactedDocument(
                id=plan.document.id,
                title=plan.document.title,
                sentences=list(plan.sentences),
                deleted=not plan.redacted.text.strip(),
            )
            for plan in plans
        ],
        matches=[ForgetMatch(id=row.id, memory=row.text) for row in matches.values()],
        errors=[ForgetError(id=id_, error=error) for id_, error in problems.items()],
    )


async def _plan(state: AppState, rows: Mapping[str, MemoryRow], problems: dict[str, str]) -> list[_Plan]:
    """Plan the redaction of each document; `problems` get the memories whose sentences can't be taken out."""
    spans: dict[str, list[Span]] = {}
    documents = await state.documents_by_key({source for row in rows.values() for source in row.sources})
    for row in rows.values():
        if origins := premises(row):
            problems[row.id] = f"It follows from other memories; redact one of these instead: {', '.join(origins)}"
            continue
        for entry in provenance_of(row):
            document = documents.get(entry.document)
            if document is None:
                continue
            if document.text_seq != document.content_seq or document.extraction_pending:
                problems[row.id] = f"Document {document.id!r} is being processed; try again in a moment"
            elif entry.start is None or entry.end is None or entry.seq != document.text_seq or document.text is None:
                problems[row.id] = f"Where document {document.id!r} states it is not known; change the document"
            else:
                spans.setdefault(document.key, []).append(Span(entry.start, entry.end))
    stated = await state.memories.find_by_documents(spans)
    return [_plan_document(documents[key], found, stated) for key, found in spans.items()]


def _plan_document(document: DocumentRow, spans: Iterable[Span], memories: Iterable[MemoryRow]) -> _Plan:
    text = document.text or ""
    sentences = whole_sentences(text, spans)
    own = [memory for memory in memories if document.key in memory.sources]
    unstated = frozenset(
        memory.id for memory in own if (span := _span(memory, document.key)) is not None and is_in(sentences, span)
    )
    said = [text[sentence.start : sentence.end] for sentence in sentences]
    return _Plan(document, own, said, redact(text, sentences), unstated)


def _span(memory: MemoryRow, document: str) -> Span | None:
    entry = next(entry for entry in provenance_of(memory) if entry.document == document)
    return None if entry.start is None or entry.end is None else Span(entry.start, entry.end)


def _gone(plans: Sequence[_Plan]) -> set[str]:
    """Return the memories that nothing states any more, and what follows from them."""
    gone: set[str] = set()
    memories = {memory.id: memory for plan in plans for memory in plan.memories}
    while True:
        more = {
            memory.id
            for memory in memories.values()
            if memory.id not in gone
            and (
                not gone.isdisjoint(premises(memory))
                or all(
                    any(plan.document.key == source and memory.id in plan.unstated for plan in plans)
                    for source in memory.sources
                )
            )
        }
        if not more:
            return gone
        gone |= more


async def _hide(state: AppState, namespace_name: str, rows: Iterable[MemoryRow]) -> None:
    if current := [row.id for row in rows if row.forgotten_at is None]:
        await forget_by_ids(state, namespace_name, current)


async def _carry_out(state: AppState, namespace_name: str, plan: _Plan, gone: Collection[str]) -> None:
    if not plan.redacted.text.strip():
        await delete_documents(state, namespace_name, [plan.document.id])
    else:
        await resubmit_document(state, plan.document, await _redacted_submission(state, plan, gone))


async def _redacted_submission(state: AppState, plan: _Plan, gone: Collection[str]) -> list[DocumentSubmitted]:
    """Build the submissions that write the document anew, without its file or page: these hold the sentences."""
    row, text = plan.document, plan.redacted.text
    kept = [memory for memory in plan.memories if memory.id not in gone and memory.id not in plan.unstated]
    line = exported_document(row, kept)
    memories = tuple(_moved(imported_memory(memory), plan.redacted) for memory in line.memories)
    first, *rest = await submission_events(
        state,
        line.model_copy(
            update={
                "text": text,
                "source": None,
                "upload": None,
                "title": _redacted_title(row, plan),
                "summary": summarize(text),
                "updated_at": state.clock.now(),
                "memories": (),
                "memories_included": True,
            }
        ),
    )
    if first.imported is not None:
        first = first.model_copy(update={"imported": first.imported.model_copy(update={"memories": memories})})
    return [first, *rest]


def _redacted_title(row: DocumentRow, plan: _Plan) -> str | None:
    """Return the title, or another one where it is of what is taken out."""
    title = _letters(row.title or "")
    said = [_letters(sentence) for sentence in plan.sentences]
    if any(title and (title in sentence or sentence in title) for sentence in said):
        return document_title(plan.redacted.text, row.type)
    return row.title


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _moved(memory: FormedMemory, redacted: RedactedText) -> FormedMemory:
    if memory.start is None or memory.end is None:
        return memory
    return memory.model_copy(update={"start": redacted.moved(memory.start), "end": redacted.moved(memory.end)})
