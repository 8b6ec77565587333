"""What an operator wants to know, and the organization's buckets."""

from collections import Counter
from collections.abc import Mapping

from api.ports import DeadLetters
from api.problems import BadRequestError, UnavailableError
from api.state import State
from pipeline.delivery import DeadLetter
from schemas.base import timestamp
from schemas.events import OrganizationChanged, SettingsChanged
from schemas.http.operator import DeadLetterAnswer, FailedDocument, StatusAnswer
from schemas.limits import BUCKETS
from schemas.topics import ALL, SETTINGS_CHANGED

FAILED = 1000
"""Documents shown at most."""


async def status(state: State) -> StatusAnswer:
    """How much there is, and how far behind the pipeline is."""
    documents: Counter[str] = Counter()
    for (space, name), count in (await state.documents.states()).items():
        if state.catalog.owner(space) is not None:
            documents[name] += count
    return StatusAnswer(
        namespaces=len(state.catalog.namespaces()),
        documents=dict(sorted(documents.items())),
        lag=await _lag(state),
        dead_letters=await _parked(parked(state)),
    )


async def _lag(state: State) -> dict[str, int]:
    behind: Counter[str] = Counter()
    for (group, _), count in (await state.health.lag()).items():
        behind[group] += count
    return dict(behind)


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


def shown(letter: DeadLetter) -> DeadLetterAnswer:
    """A dead letter for people; its value stays in the log."""
    topic, partition, offset = letter.origin
    return DeadLetterAnswer(
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
