"""What an operator wants to know, and the organization's buckets."""

from base64 import b64encode
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version

from api.ports import DeadLetters
from api.problems import BadRequestError, NotFoundError, UnavailableError
from api.queries import replay
from api.state import State
from pipeline.records import PARKING, DeadLetter
from pipeline.store.sizes import together
from schemas.base import timestamp
from schemas.events import OrganizationChanged, SettingsChanged
from schemas.http.operator import (
    DeadLetterAnswer,
    Disk,
    FailedDocument,
    LetterAnswer,
    NotReady,
    StageLag,
    StatusAnswer,
    WaitingDocument,
)
from schemas.http.replay import ReplayAnswer
from schemas.limits import BUCKETS
from schemas.topics import ALL, SETTINGS_CHANGED

FAILED = 1000
"""Documents shown at most."""
LETTERS = 100_000
"""Dead letters of a topic that are looked through for one."""
SHOWN = 5
"""Of them in the status."""


async def status(state: State) -> StatusAnswer:
    """How much there is, and how far behind the pipeline is."""
    documents: Counter[str] = Counter()
    for (space, name), count in (await state.documents.states()).items():
        if state.catalog.owner(space) is not None:
            documents[name] += count
    seen = await state.health.look()
    lag: Counter[str] = Counter()
    for (group, _), count in seen.lag.items():
        lag[group] += count
    troubles = await state.health.troubles()
    late = await waiting(state)
    return StatusAnswer(
        version=version("recollect"),
        bus=seen.bus,
        not_ready=[NotReady(part=one.part, reason=one.reason) for one in troubles],
        namespaces=len(state.catalog.namespaces()),
        documents=dict(sorted(documents.items())),
        chunks=seen.tables["chunks"].rows,
        memories=seen.tables["memories"].rows,
        lag=dict(lag),
        stages=[
            StageLag(stage=group.removeprefix("recollect."), topic=topic, lag=count)
            for (group, topic), count in sorted(seen.lag.items())
        ],
        dead_letters=await _parked(parked(state)),
        failures=(await failed(state))[:SHOWN],
        waiting=late[:SHOWN],
        waiting_count=len(late),
        replay=await _running(state),
        disk=Disk(tables=together(seen.tables.values()).bytes, log=seen.log_bytes, free=seen.free_bytes),
    )


async def _running(state: State) -> ReplayAnswer | None:
    """The replay that runs, if one does."""
    progress = None if state.replays is None else await state.replays.look()
    return replay.shown(progress) if progress is not None and progress.state == "running" else None


async def _parked(letters: DeadLetters) -> dict[str, int]:
    counts = {topic.name: await letters.depth(topic.dead_letters) for topic in ALL}
    return {name: count for name, count in counts.items() if count}


def parked(state: State) -> DeadLetters:
    """Where dead letters are; UnavailableError when this deployment does not show them."""
    if state.dead_letters is None:
        raise UnavailableError(
            "Dead letters can't be read here", "The log of this deployment does not show them."
        )
    return state.dead_letters


async def failed(state: State) -> list[FailedDocument]:
    """Documents that could not be read, in namespaces that exist."""
    rows = [(state.catalog.owner(row.space), row) for row in await state.documents.failed(FAILED)]
    return [
        FailedDocument(
            namespace=owner.name,
            id=row.id,
            error=row.error or "no reason was given",
            updated_at=timestamp(row.updated_at),
        )
        for owner, row in rows
        if owner is not None
    ]


async def waiting(state: State) -> list[WaitingDocument]:
    """Documents whose memories could not be formed yet, in namespaces that exist; at most `FAILED`."""
    rows = [(state.catalog.owner(row.space), row) for row in await state.documents.delayed(FAILED)]
    return [
        WaitingDocument(namespace=owner.name, id=row.id, error=row.dreaming_error or "no reason was given")
        for owner, row in rows
        if owner is not None
    ]


async def letter_of(state: State, id: str) -> LetterAnswer:  # noqa: A002 - a letter's own word
    """All of one dead letter."""
    topic = id.partition("/")[0].removesuffix(".dlq")
    found = await parked(state).dead_letters(topic, LETTERS)
    letter = next((one for one in found if one.id == id), None)
    if letter is None:
        raise NotFoundError("Dead letter not found", f"There is no dead letter {id[:200]!r} any more.")
    value = letter.record.value
    try:
        payload, encoding = value.decode(), "utf-8"
    except UnicodeDecodeError:
        payload, encoding = b64encode(value).decode(), "base64"
    return LetterAnswer(
        **shown(letter).model_dump(),
        headers={name: _legible(text) for name, text in letter.record.headers.items() if name not in PARKING},
        size=len(value),
        encoding=encoding,
        payload=payload,
    )


def _legible(text: str) -> str:
    """What another program sent as no UTF-8, for people."""
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


def shown(letter: DeadLetter) -> DeadLetterAnswer:
    """A dead letter for people; its value stays in the log."""
    topic, partition, offset = letter.origin
    return DeadLetterAnswer(
        id=letter.id,
        topic=topic,
        partition=partition,
        offset=offset,
        key=letter.record.key.decode(errors="replace"),
        stage=letter.stage,
        error=letter.error,
        error_type=letter.error_type,
        attempts=letter.attempts,
        parked_at=letter.parked_at,
    )


async def set_buckets(state: State, buckets: Mapping[str, str]) -> dict[str, str]:
    """Add or redefine buckets of the organization."""
    async with state.changes.turn():
        merged = {**state.catalog.organization().buckets, **buckets}
        if len(merged) > BUCKETS:
            raise BadRequestError("Too many buckets", f"The organization has at most {BUCKETS}.")
        await _save(state, merged)
    return merged


async def delete_buckets(state: State, names: list[str]) -> dict[str, str]:
    """Remove buckets of the organization; unknown ones are ignored."""
    async with state.changes.turn():
        owned = state.catalog.organization().buckets
        kept = {name: text for name, text in owned.items() if name not in names}
        if kept != owned:
            await _save(state, kept)
    return kept


async def _save(state: State, buckets: dict[str, str]) -> None:
    context = state.catalog.organization().context
    change = OrganizationChanged(context=context, buckets=buckets, updated_at=state.clock.now())
    event = SettingsChanged(change=change)
    await state.publisher.publish(SETTINGS_CHANGED, [("organization", event)])
    state.catalog.apply(event)
