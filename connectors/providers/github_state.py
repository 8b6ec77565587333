"""What is kept of a repository that was read, and whether it has to be read again."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final

from pydantic import TypeAdapter

from connectors.ports import Known, Note
from connectors.providers.github_glance import Glance
from connectors.providers.github_issues import Progress

_LISTS_EVERY: Final = timedelta(days=1)
"""An edited comment leaves the time of its issue as it was: only the list of comments tells."""
_SAME_TIME: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class State:
    """What was read of a repository: under which name, which branch, up to which commit and which changes.

    `node`: what GraphQL calls it; `read_at`: when its lists were read last.
    """

    name: str
    branch: str
    head: str | None
    progress: Progress
    node: str = ""
    read_at: str = ""

    def is_as(self, glance: Glance) -> bool:
        """Whether nothing moved since."""
        same = (glance.name, glance.head) == (self.name, self.head) and glance.branch in {None, self.branch}
        return same and glance.changed <= self.progress.issues.at

    def is_settled(self, now: datetime) -> bool:
        """Whether a glance can tell: not after a day, nor where more may bear the newest second's time."""
        if not self.node or not self.read_at:
            return False
        read_at = datetime.fromisoformat(self.read_at)
        newest = datetime.fromisoformat(self.progress.issues.at) if self.progress.issues.at else None
        return now - read_at < _LISTS_EVERY and (newest is None or read_at - newest > _SAME_TIME)


_STATE: Final = TypeAdapter(State)


def key(number: int | str) -> str:
    return f"repository/{number}"


async def read(choice: str, known: Known) -> tuple[str | None, State | None]:
    """The number of a chosen repository and what was read of it, as far as either is known."""
    name = name_key(choice)
    number = choice if choice.isdigit() else (await known.notes([name])).get(name)
    if number is None:
        return None, None
    note = (await known.notes([key(number)])).get(key(number))
    return number, None if note is None else _STATE.validate_json(note)


def name_key(choice: str) -> str:
    """Whom a name meant when it was chosen: another repository that takes it later is not meant."""
    return f"name/{choice.lower()}"


def note(number: int, state: State) -> Note:
    """What `read` finds later."""
    return Note(key(number), json.dumps(asdict(state)))
