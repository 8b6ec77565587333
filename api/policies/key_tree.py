"""Keys below limited admin keys: what a key and all keys that it issued use counts against its limits."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from api.policies.api_keys import issuers_of
from pipeline.store import SettingsCatalog
from schemas.events import KeyChanged


@dataclass(frozen=True, slots=True)
class KeyFamily:
    """A limited admin key and all keys below it, revoked ones too."""

    head: KeyChanged
    members: frozenset[str]


class KeyTree:
    """Finds the families of a key. An operator's keys are none: they may lift any limit."""

    def __init__(self, keys: SettingsCatalog) -> None:
        self._keys = keys
        self._members: dict[str, set[str]] = {}
        self._known_count = -1

    def families(self, key: str) -> Iterator[KeyFamily]:
        """Yield the family that a key heads, and those of the keys above it."""
        own = self._keys.key(key)
        heads = [row for row in (own,) if row and _is_limited_admin(row)] + self.heads_above(key)
        if heads:
            self._refresh()
        for head in heads:
            yield KeyFamily(head, frozenset(self._members.get(head.id, ())) | {head.id})

    def heads_above(self, key: str) -> list[KeyChanged]:
        """Return the limited admin keys above a key, its issuer first."""
        return [row for row in issuers_of(key, self._keys.key) if _is_limited_admin(row)]

    def _refresh(self) -> None:
        # A key never changes its issuer and never goes, so the tree is the same while their number is.
        if self._known_count == self._keys.key_count:
            return
        members: defaultdict[str, set[str]] = defaultdict(set)
        rows = self._keys.keys()
        for row in rows:
            for issuer in issuers_of(row.id, self._keys.key):
                members[issuer.id].add(row.id)
        self._members, self._known_count = members, self._keys.key_count


def _is_limited_admin(row: KeyChanged) -> bool:
    return row.role == "admin" and row.namespaces is not None
