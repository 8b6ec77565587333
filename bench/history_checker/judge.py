"""Judges a history against the fold of the log."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.history_checker.history import WRITES, FinalState, History, Operation, Sight
from pipeline.projection import apply_submission
from pipeline.rows import DocumentRow
from pipeline.stages.extract_stage import append_text
from schemas.events import DocumentSubmitted

OK = 200
NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class LoggedSubmission:
    """A submission and its offset in the log."""

    offset: int
    event: DocumentSubmitted


@dataclass(slots=True)
class Verdict:
    """Problem of a history, in words."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    went_back: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        return [*self.lost, *self.doubled, *self.stuck, *self.went_back]

    def extend(self, other: "Verdict") -> None:
        """Add the problems of another history."""
        self.lost += other.lost
        self.doubled += other.doubled
        self.stuck += other.stuck
        self.went_back += other.went_back


@dataclass(frozen=True, slots=True)
class _State:
    """A document after a prefix of its submissions; `metadata` None: there is none."""

    metadata: dict[str, object] | None
    text: str


class _DocumentFold:
    """Every state of a document id in its namespace, in log order. State 0 is before the first submission.

    Where the content was moved away, a state without a document follows, and those of a document begun later.
    """

    def __init__(self, submissions: Sequence[LoggedSubmission], *, is_moved: bool) -> None:
        self.states: list[_State] = []
        self._positions: dict[str, int] = {}
        of_first = [submission for submission in submissions if _epoch(submission) == 0]
        of_second = [submission for submission in submissions if _epoch(submission) > 0]
        self._add(of_first)
        self.moved = self.states[-1]
        """The last state of the document that was there before the move."""
        if is_moved or of_second:
            self._add(of_second)

    def _add(self, submissions: Sequence[LoggedSubmission]) -> None:
        """Append the states of the documents of one incarnation."""
        self.states.append(_State(None, ""))
        row: DocumentRow | None = None
        text = ""
        for submission in submissions:
            row = apply_submission(row, submission.event, submission.offset)
            text = _text_after(text, row, submission)
            for token in submission.event.metadata or {}:
                self._positions.setdefault(token, len(self.states))
            self.states.append(_State(None if row is None else dict(row.metadata), text))

    def position_of(self, token: str) -> int | None:
        """Return the number of the first state that has the write with this token."""
        return self._positions.get(token)

    def first_match(self, metadata: dict[str, object] | None, lower: int) -> int | None:
        """Return the first state from `lower` on with this metadata."""
        numbers = range(lower, len(self.states))
        return next((number for number in numbers if self.states[number].metadata == metadata), None)


def judge(history: History, submissions: Sequence[LoggedSubmission]) -> Verdict:
    """Compare answers, sights and final states with the submissions of the history's namespace, in log order."""
    verdict = Verdict()
    by_document: dict[str, list[LoggedSubmission]] = {}
    for submission in submissions:
        by_document.setdefault(submission.event.id, []).append(submission)
    documents = {operation.document for operation in history.operations} | by_document.keys()
    folds = {
        document: _DocumentFold(by_document.get(document, []), is_moved=history.is_moved) for document in documents
    }
    for operation in history.operations:
        is_acknowledged = operation.kind in WRITES and operation.status == OK
        if is_acknowledged and folds[operation.document].position_of(operation.token) is None:
            verdict.lost.append(f"{_name(history, operation)} was acknowledged and is not in the log")
    for document, fold in folds.items():
        _judge_sights(history, document, fold, verdict)
    for final in history.final:
        fold = folds[final.document]
        _judge_final(history, final, fold.moved if final.is_moved else fold.states[-1], verdict)
    for is_moved, found in ((False, history.found), (True, history.found_moved)):
        present = {final.document for final in history.final if final.status is not None and final.is_moved == is_moved}
        verdict.went_back += [
            f"{history.namespace}: a search found {id_}, which was deleted" for id_ in found if id_ not in present
        ]
    verdict.went_back += [f"{history.namespace}: {memory}" for memory in history.remembered]
    if history.is_unremembered:
        verdict.stuck.append(f"{history.namespace}: a statement never became a memory")
    return verdict


def _epoch(submission: LoggedSubmission) -> int:
    return int(submission.event.incarnation.rpartition("#")[2])


def _text_after(text: str, row: DocumentRow | None, submission: LoggedSubmission) -> str:
    if row is None:
        return ""
    event = submission.event
    if row.content_seq != submission.offset or event.content is None:
        return text
    new = event.content.text or ""
    return append_text(text, new) if event.operation == "add" and text else new


def _judge_sights(history: History, document: str, fold: _DocumentFold, verdict: Verdict) -> None:
    """Find for every sight the first state that explains it and is not older than what was known before it began.

    Any state explains a stale sight.
    """
    known: list[tuple[float, int]] = [
        (operation.ended, position)
        for operation in history.operations
        if operation.document == document and operation.kind in WRITES and operation.status == OK
        if (position := fold.position_of(operation.token)) is not None
    ]
    for started, ended, sight in _sights_of(history, document):
        before = (position for time, position in known if time < started)
        lower = 0 if sight.is_stale else max(before, default=0)
        number = fold.first_match(sight.metadata, lower)
        if number is None:
            verdict.went_back.append(
                f"{history.namespace}/{document}: a read from {started:.3f} to {ended:.3f} saw {sight.metadata},"
                f" but state {lower} of {len(fold.states) - 1} was known before: {fold.states[lower].metadata}"
            )
        elif not sight.is_stale:
            known.append((ended, number))


def _sights_of(history: History, document: str) -> list[tuple[float, float, Sight]]:
    sights = [
        (operation.started, operation.ended, sight)
        for operation in history.operations
        for sight in operation.sights
        if sight.document == document
    ]
    return sorted(sights, key=lambda entry: entry[:2])


def _judge_final(history: History, final: FinalState, expected: _State, verdict: Verdict) -> None:
    place = f"{history.namespace}/{final.document}{' as moved' if final.is_moved else ''}"
    if final.status is None or expected.metadata is None:
        if (final.status is None) != (expected.metadata is None):
            verdict.lost.append(f"{place} ends as {final.status}, but the log says {expected.metadata}")
        return
    if final.status != "done":
        verdict.stuck.append(f"{place} stays {final.status}")
        return
    missing = {key for key, value in expected.metadata.items() if final.metadata.get(key) != value}
    if missing or final.metadata.keys() - expected.metadata.keys():
        verdict.lost.append(f"{place} has metadata {final.metadata}, but the log says {expected.metadata}")
    lines, wanted = final.content.split("\n\n"), expected.text.split("\n\n")
    verdict.doubled += [f"{place} has {line!r} {lines.count(line)} times" for line in {*lines} if lines.count(line) > 1]
    if set(lines) != set(wanted):
        verdict.lost.append(f"{place} has the text {lines}, but the log says {wanted}")


def _name(history: History, operation: Operation) -> str:
    return f"{operation.kind} {operation.token} of {history.namespace}/{operation.document}"
