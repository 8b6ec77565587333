"""Who administered the service. Ours, and outside the contract."""

from schemas.base import Answer
from schemas.events import ActOutcome
from schemas.http.parts import Maybe, Timestamp


class Act(Answer):
    """What somebody did, or tried (`refused`: the key may not). `place`: where in the log."""

    place: int
    at: Timestamp
    act: str
    outcome: ActOutcome
    key: str
    role: str
    address: Maybe[str]
    request_id: Maybe[str]
    details: dict[str, str]


class AuditAnswer(Answer):
    """Newest first; `before`: ask with it for older ones, null where there are none."""

    acts: list[Act]
    before: int | None
