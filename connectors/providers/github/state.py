"""Stored state of a synced repository, and whether it has to be read again."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final

from pydantic import TypeAdapter

from connectors.providers.github.batch_head_check import RepositoryHead
from connectors.providers.github.issues import IssueWatermarks
from connectors.sync_messages import ProviderState, SyncState

_MAX_LIST_AGE: Final = timedelta(days=1)
"""Age from which lists are read again, as an edited comment does not change its issue's time."""
_TIMESTAMP_MARGIN: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """State of a repository at the last sync: name, branch, commit, watermarks, and time of reading."""

    full_name: str
    default_branch: str
    head: str | None
    watermarks: IssueWatermarks
    node_id: str = ""
    read_at: str = ""

    def matches(self, head: RepositoryHead) -> bool:
        same = (head.full_name, head.head) == (self.full_name, self.head) and head.branch in {None, self.default_branch}
        return same and head.issues_updated_at <= self.watermarks.issues.updated_at

    def is_settled(self, now: datetime) -> bool:
        """Return whether the head query suffices: the lists are recent and no change can share the newest second."""
        if not self.node_id or not self.read_at:
            return False
        read_at = datetime.fromisoformat(self.read_at)
        newest = (
            datetime.fromisoformat(self.watermarks.issues.updated_at) if self.watermarks.issues.updated_at else None
        )
        return now - read_at < _MAX_LIST_AGE and (newest is None or read_at - newest > _TIMESTAMP_MARGIN)


_STATE_ADAPTER: Final = TypeAdapter(RepositoryState)


def state_key(number: int | str) -> str:
    return f"repository/{number}"


async def load_state(repository_ref: str, state: SyncState) -> tuple[str | None, RepositoryState | None]:
    name = name_key(repository_ref)
    number = repository_ref if repository_ref.isdigit() else (await state.provider_state([name])).get(name)
    if number is None:
        return None, None
    note = (await state.provider_state([state_key(number)])).get(state_key(number))
    return number, None if note is None else _STATE_ADAPTER.validate_json(note)


def name_key(repository_ref: str) -> str:
    """State key that binds a selected name to the repository that had it at the time of selection."""
    return f"name/{repository_ref.lower()}"


def state_entry(number: int, state: RepositoryState) -> ProviderState:
    """Build the state entry that `load_state` reads; ValueError for a state that a malformed answer was read into."""
    return ProviderState(state_key(number), json.dumps(asdict(_STATE_ADAPTER.validate_python(asdict(state)))))
