"""Service status and dead letters for operators."""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import pairwise
from math import isinf

from api.dependencies.app_state import AppState
from api.errors.http_errors import NotFoundError
from api.presenters.resource_presenter import display_title
from pipeline.bus.records import DEAD_LETTER_HEADERS, DeadLetter
from pipeline.rows import DocumentRow
from pipeline.store.lancedb.table_size import sum_sizes
from schemas.http.extensions import operations_bodies as bodies
from schemas.http.extensions.replay_bodies import ReplayProgressResponse

MAX_DOCUMENTS_SHOWN = 1000
"""Maximum number of documents in a list."""
MAX_DEAD_LETTERS_SCANNED = 100_000
"""Maximum number of a topic's dead letters searched for an id."""
STATUS_PREVIEW_SIZE = 5
"""Documents listed in the status."""
_MILLISECONDS = 1000


async def service_status(state: AppState) -> bodies.StatusResponse:
    """Collect counts, lag, health issues, failures and disk usage."""
    documents: Counter[str] = Counter()
    for (incarnation, name), count in (await state.documents.count_by_status()).items():
        if state.catalog.namespace_of(incarnation) is not None:
            documents[name] += count
    snapshot = await state.health.snapshot()
    lag: Counter[str] = Counter()
    for (group, _), count in snapshot.lag.items():
        lag[group] += count
    delayed = await delayed_documents(state)
    return bodies.StatusResponse(
        version=version("recollect"),
        bus=snapshot.bus_description,
        health_issues=[
            bodies.HealthIssueResponse(part=issue.component, reason=issue.reason) for issue in snapshot.health_issues
        ],
        namespaces=state.catalog.count(),
        documents=dict(sorted(documents.items())),
        chunks=snapshot.tables["chunks"].rows,
        memories=snapshot.tables["memories"].rows,
        lag=dict(lag),
        stages=[
            bodies.StageLag(stage=group.removeprefix("recollect."), topic=topic, lag=count)
            for (group, topic), count in sorted(snapshot.lag.items())
        ],
        dead_letters={topic: count for topic, count in snapshot.dead_letters.items() if count},
        failures=(await failed_documents(state))[:STATUS_PREVIEW_SIZE],
        delayed=delayed[:STATUS_PREVIEW_SIZE],
        delayed_count=len(delayed),
        searches=search_speed(state.metrics.search_buckets()),
        replay=await _running_replay(state),
        disk=bodies.DiskUsage(
            tables=sum_sizes(snapshot.tables.values()).bytes, log=snapshot.log_bytes, free=snapshot.disk_free_bytes
        ),
    )


async def _running_replay(state: AppState) -> ReplayProgressResponse | None:
    progress = await state.replays.latest_progress()
    return ReplayProgressResponse.model_validate(progress) if progress.state == "running" else None


async def failed_documents(state: AppState) -> list[bodies.FailedDocument]:
    """List documents that could not be parsed, in existing namespaces."""
    return [
        bodies.FailedDocument.of(
            row, namespace=namespace, title=display_title(row), error=row.error or "no reason was given"
        )
        for namespace, row in _with_namespaces(state, await state.documents.failed(MAX_DOCUMENTS_SHOWN))
    ]


async def delayed_documents(state: AppState) -> list[bodies.DelayedDocument]:
    """List documents with delayed extraction, in existing namespaces; at most MAX_DOCUMENTS_SHOWN."""
    rows = await state.documents.awaiting_extraction(MAX_DOCUMENTS_SHOWN)
    return [
        bodies.DelayedDocument(namespace=namespace, id=row.id, error=row.extraction_error or "no reason was given")
        for namespace, row in _with_namespaces(state, rows)
    ]


def _with_namespaces(state: AppState, rows: Iterable[DocumentRow]) -> Iterator[tuple[str, DocumentRow]]:
    for row in rows:
        if (namespace := state.catalog.namespace_of(row.incarnation)) is not None:
            yield namespace.name, row


async def get_dead_letter(state: AppState, id: str) -> bodies.DeadLetterResponse:  # noqa: A002 - a letter's own word
    """Return a dead letter with headers and payload; NotFoundError if it does not exist any more."""
    topic = id.partition("/")[0].removesuffix(".dlq")
    letters = await state.bus.dead_letters(topic, MAX_DEAD_LETTERS_SCANNED)
    letter = next((letter for letter in letters if letter.id == id), None)
    if letter is None:
        raise NotFoundError("Dead letter not found", f"There is no dead letter {id[:200]!r} any more.")
    value = _readable_value(letter)
    try:
        payload, encoding = value.decode(), "utf-8"
    except UnicodeDecodeError:
        payload, encoding = b64encode(value).decode(), "base64"
    return bodies.DeadLetterResponse(
        **dead_letter_summary(letter).model_dump(),
        headers={
            name: _escape_surrogates(text)
            for name, text in letter.record.headers.items()
            if name not in DEAD_LETTER_HEADERS
        },
        size=len(value),
        encoding=encoding,
        payload=payload,
    )


def _readable_value(letter: DeadLetter) -> bytes:
    """Return the value of a letter, as it is stored if it is sealed and can't be opened."""
    try:
        return letter.record.content
    except ValueError:
        return letter.record.value


def _escape_surrogates(text: str) -> str:
    """Replace undecodable bytes of a header by backslash escapes."""
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


def dead_letter_summary(letter: DeadLetter) -> bodies.DeadLetterSummary:
    """Present a dead letter without its payload."""
    topic, partition, offset = letter.origin
    key = letter.record.key.decode(errors="replace")
    return bodies.DeadLetterSummary.of(letter, topic=topic, partition=partition, offset=offset, key=key)


def search_speed(buckets: Mapping[float, int]) -> bodies.SearchSpeed:
    """Present how long searches took; `buckets`: cumulative counts by upper bound in seconds."""
    bounds = sorted(buckets)
    cumulative = [buckets[bound] for bound in bounds]
    return bodies.SearchSpeed(
        count=cumulative[-1],
        median=_quantile(0.5, bounds, cumulative),
        p99=_quantile(0.99, bounds, cumulative),
        bounds=[bound * _MILLISECONDS for bound in bounds if not isinf(bound)],
        by_bucket=[after - before for before, after in pairwise([0, *cumulative])],
    )


def _quantile(share: float, bounds: Sequence[float], cumulative: Sequence[int]) -> float | None:
    """Interpolate within the bucket of the quantile, as Prometheus does; milliseconds."""
    wanted = share * cumulative[-1]
    if not cumulative[-1]:
        return None
    at = next(place for place, count in enumerate(cumulative) if count >= wanted)
    lower = bounds[at - 1] if at else 0.0
    if isinf(bounds[at]):
        return round(lower * _MILLISECONDS, 2)
    before = cumulative[at - 1] if at else 0
    part = (wanted - before) / (cumulative[at] - before)
    return round((lower + (bounds[at] - lower) * part) * _MILLISECONDS, 2)
