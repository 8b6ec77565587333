"""Versions and their head, derived from what replaces what: a pure function of the facts that exist.

So the order in which events arrive, and how often, does not matter; nor does a version missing in the middle.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from schemas.events import Relation


@dataclass(frozen=True, slots=True)
class Node:
    """A fact that exists: the time it speaks of, and the ids of those it replaces (they need not exist)."""

    when: datetime
    updates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """`version` counts from 1 along the chain; `replaced` when a later version exists, forgotten or not."""

    version: int
    replaced: bool
    updates: tuple[Relation, ...] = ()
    """To the facts that it replaces."""


Lookup = Callable[[str], Node | None]
Later = Callable[[str], Iterable[str]]


def family(seeds: Iterable[str], node: Lookup, later: Later) -> set[str]:
    """Everything connected with the seeds by replacing, ids that no longer exist included."""
    found: set[str] = set()
    open_ids = list(seeds)
    while open_ids:
        one = open_ids.pop()
        if one in found:
            continue
        found.add(one)
        here = node(one)
        open_ids.extend(here.updates if here is not None else ())
        open_ids.extend(later(one))
    return found


def standings(nodes: Mapping[str, Node]) -> dict[str, Standing]:
    """The standing of each fact of one or several whole families."""
    order = _oldest_first(nodes)
    place = {one: index for index, one in enumerate(order)}
    versions: dict[str, int] = {}
    replaced: set[str] = set()
    for one in order:
        # A fact never replaces one of a later time; were it said, the chain would have no head.
        older = [target for target in nodes[one].updates if place.get(target, len(order)) < place[one]]
        versions[one] = 1 + max((versions[target] for target in older), default=0)
        replaced.update(older)
    return {one: Standing(versions[one], one in replaced) for one in order}


def _oldest_first(nodes: Mapping[str, Node]) -> list[str]:
    """By time; among facts of one time, what is replaced comes first."""
    order: list[str] = []
    times: dict[datetime, list[str]] = {}
    for one in sorted(nodes):
        times.setdefault(nodes[one].when, []).append(one)
    for when in sorted(times):
        order += _replaced_first(times[when], nodes)
    return order


def _replaced_first(ids: Collection[str], nodes: Mapping[str, Node]) -> list[str]:
    if len(ids) == 1:
        return list(ids)
    waiting = {
        one: {target for target in nodes[one].updates if target in ids and target != one} for one in ids
    }
    order: list[str] = []
    while waiting:
        ready = [one for one, targets in waiting.items() if not targets & waiting.keys()]
        ready = ready or [min(waiting)]
        order += ready
        for one in ready:
            del waiting[one]
    return order
