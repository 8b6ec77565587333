"""Version numbers and heads derived from which facts replace which. Pure.

The result depends only on the facts that exist, not on the order or number of deliveries; versions missing
in the middle do no harm.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from schemas.events import Relation


@dataclass(frozen=True, slots=True)
class VersionNode:
    """A fact: the time it is about and the ids of the facts it replaces (which need not exist)."""

    valid_time: datetime
    updates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VersionState:
    """`version` counts from 1 along the chain; `is_superseded` if a later version exists, forgotten or not.

    `updates` are the relations to the facts it replaces. `ends_at`: when a plan ends it.
    """

    version: int
    is_superseded: bool
    updates: tuple[Relation, ...] = ()
    ends_at: datetime | None = None


NodeLookup = Callable[[str], VersionNode | None]
ConnectedIds = Callable[[str], Iterable[str]]


def version_family(seeds: Iterable[str], node: NodeLookup, connected_ids: ConnectedIds) -> set[str]:
    """Return the ids connected with the seeds by replacement, including ids that no longer exist."""
    family: set[str] = set()
    to_visit = list(seeds)
    while to_visit:
        id_ = to_visit.pop()
        if id_ in family:
            continue
        family.add(id_)
        current = node(id_)
        to_visit.extend(current.updates if current is not None else ())
        to_visit.extend(connected_ids(id_))
    return family


def version_states(nodes: Mapping[str, VersionNode]) -> dict[str, VersionState]:
    """Return the version state of each fact of one or more complete families."""
    order = _topological_order(nodes)
    position = {id_: index for index, id_ in enumerate(order)}
    versions: dict[str, int] = {}
    superseded: set[str] = set()
    for id_ in order:
        # A fact never replaces one with a later valid time; otherwise the chain would have no head.
        older = [target for target in nodes[id_].updates if position.get(target, len(order)) < position[id_]]
        versions[id_] = 1 + max((versions[target] for target in older), default=0)
        superseded.update(older)
    return {id_: VersionState(versions[id_], id_ in superseded) for id_ in order}


def _topological_order(nodes: Mapping[str, VersionNode]) -> list[str]:
    """Order ids by valid time, replaced facts first among equal times."""
    order: list[str] = []
    ids_by_time: dict[datetime, list[str]] = {}
    for id_ in sorted(nodes):
        ids_by_time.setdefault(nodes[id_].valid_time, []).append(id_)
    for valid_time in sorted(ids_by_time):
        order += _superseded_first(ids_by_time[valid_time], nodes)
    return order


def _superseded_first(ids: Collection[str], nodes: Mapping[str, VersionNode]) -> list[str]:
    if len(ids) == 1:
        return list(ids)
    waiting = {id_: {target for target in nodes[id_].updates if target in ids and target != id_} for id_ in ids}
    order: list[str] = []
    while waiting:
        ready = [id_ for id_, targets in waiting.items() if not targets & waiting.keys()]
        ready = ready or [min(waiting)]
        order += ready
        for id_ in ready:
            del waiting[id_]
    return order
