"""Comparison of a new fact with existing ones: which of them are no longer true. Pure.

Draws only `updates` relations within one attribute: a false update hides a true fact, a missed one does
not.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from pipeline.memory.attributes.attribute import Attribute, contradicts, is_equivalent, will_contradict
from pipeline.memory.outlines.replacement import probability
from pipeline.memory.versioning.expiration_rules import takes_effect
from schemas.base import parse_iso_time
from schemas.events import Relation

MAX_UPDATE_TARGETS = 20
"""Older versions named by a new one.

All are named, not only the last, so that the order of versions survives the deletion of one in the middle.
"""


@dataclass(frozen=True, slots=True)
class FactRecord:
    """A fact with its attributes.

    `valid_time`: the time it is about. `pending`: (document, seq) until the table contains it.
    `stated_updates`: the part of `updates` that documents state; the rest follows from valid times.
    `premises`: ids of the memories it was concluded from. `true_beside`: ids of facts that a person said do not
    contradict it.
    """

    id: str
    incarnation: str
    text: str
    attributes: tuple[Attribute, ...]
    valid_time: datetime
    sources: tuple[str, ...]
    is_static: bool = False
    updates: tuple[str, ...] = ()
    is_latest: bool = True
    is_forgotten: bool = False
    pending: tuple[str, int] | None = None
    stated_updates: tuple[str, ...] = ()
    replaced_by: tuple[str, ...] = ()
    premises: tuple[str, ...] = ()
    true_beside: tuple[str, ...] = ()

    @property
    def takes_effect(self) -> datetime | None:
        """Time from which what is planned holds; None for what is no plan or names no day."""
        is_plan = any(attribute.is_planned for attribute in self.attributes)
        return takes_effect(self.text, self.valid_time) if is_plan else None


@dataclass(frozen=True, slots=True)
class UpdateDecision:
    """`relations` point to older facts; `replaced_by` holds ids of newer facts that arrived earlier.

    `planned`: ids of facts of which one will end the other on a day to come.
    """

    relations: tuple[Relation, ...] = ()
    replaced_by: tuple[str, ...] = ()
    planned: tuple[str, ...] = ()


def parse_valid_time(stated: str | None, default: datetime) -> datetime:
    """Return the time a fact is about: `stated` in ISO 8601 (year, month, day or time), else `default`.

    A time without a zone is taken as UTC.

    >>> parse_valid_time("2023-05-08", datetime.min).year
    2023
    """
    if not stated:
        return default
    return parse_iso_time(stated) or default


def compare_fact(
    attributes: Sequence[Attribute], valid_time: datetime, others: Sequence[FactRecord], *, is_restatement: bool = False
) -> UpdateDecision:
    """Compare a fact with the others that share its attributes.

    Facts with a later valid time are not replaced; they replace the new fact. `is_restatement`: the same
    words were true before, and another value was true in between.
    """
    newest_first = sorted(others, key=lambda other: other.valid_time, reverse=True)
    older = (
        update_relation(other.id, contradiction)
        for other in newest_first
        if other.valid_time <= valid_time
        and (contradiction := find_contradiction(attributes, other.attributes, is_restatement=is_restatement))
    )
    newer = (
        other.id
        for other in newest_first
        if other.valid_time > valid_time and find_contradiction(other.attributes, attributes)
    )
    planned = (
        other.id
        for other in newest_first
        if will_end(attributes, other.attributes) or will_end(other.attributes, attributes)
    )
    return UpdateDecision(
        tuple(islice(older, MAX_UPDATE_TARGETS)),
        tuple(islice(newer, MAX_UPDATE_TARGETS)),
        tuple(islice(planned, MAX_UPDATE_TARGETS)),
    )


def will_end(planned: Sequence[Attribute], present: Sequence[Attribute]) -> bool:
    """Return whether a plan will end what holds now."""
    plans = [attribute for attribute in planned if attribute.is_planned]
    return any(will_contradict(plan, attribute) for plan in plans for attribute in present)


def find_contradiction(
    new: Sequence[Attribute], old: Sequence[Attribute], *, is_restatement: bool = False
) -> tuple[Attribute, Attribute] | None:
    """Return the newer and older attribute that cannot both be true now; None if all can."""
    for new_attribute in new:
        for old_attribute in old:
            if contradicts(new_attribute, old_attribute) or (
                is_restatement and is_equivalent(new_attribute, old_attribute)
            ):
                return new_attribute, old_attribute
    return None


def update_relation(target: str, contradiction: tuple[Attribute, Attribute]) -> Relation:
    """Return the `updates` relation to an outdated fact, with the attribute and both values as evidence."""
    new, old = contradiction
    attribute_name = f"{new.name} of {new.subject}"
    return Relation(
        kind="updates",
        target=target,
        reason=f"{attribute_name}: {old.value} -> {new.value}",
        attribute=attribute_name,
        evidence=f"{old.value} -> {new.value}",
        score=contradiction_confidence(new, old),
    )


def contradiction_confidence(new: Attribute, old: Attribute) -> float:
    """Return the confidence of a contradiction.

    Statements: as learned. 1.0: the old value is named, or one value denies the other. 0.9: exact values. 0.8:
    phrases that merely differ.
    """
    if new.value_kind == "statement":
        return round(probability(new.value, old.value), 2)
    if new.replaced_value is not None or old.is_negated:
        return 1.0
    return 0.9 if "exact" in (new.value_kind, old.value_kind) or new.is_explicit_change else 0.8


def visible_facts(facts: Sequence[FactRecord], document: str, stated_ids: Collection[str]) -> list[FactRecord]:
    """Return the facts to compare a document with, without those that only its own earlier text stated.

    `stated_ids`: memories that the present text has stated so far.
    """
    return [fact for fact in facts if fact.id in stated_ids or any(source != document for source in fact.sources)]


def is_newest(valid_time: datetime, facts: Sequence[FactRecord]) -> bool:
    """Return whether no existing fact has a later valid time."""
    return all(fact.valid_time <= valid_time for fact in facts)
