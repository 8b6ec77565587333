"""What a document's facts let conclude, beside those of its namespace and its own."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pipeline.memory.deriving.rules import Conclusion, concluded
from pipeline.memory.lasting import is_static
from pipeline.memory.relations import Known
from schemas.base import Metadata
from schemas.events import FormedMemory, Relation

LARGEST = 20_000
"""Memories of a namespace in which something is concluded: beside more, a first name is nobody's own."""
MOST_PARTNERS = 20
"""Memories that one is looked at together with; a name that more of them share says nothing."""
MOST = 100
"""Conclusions of one document."""


@dataclass(frozen=True, slots=True)
class Premise:
    """A memory that something may follow from, and the time that it speaks of."""

    id: str
    text: str
    when: datetime


def conclusions(premise: Premise, others: Sequence[Known]) -> list[FormedMemory]:
    """What follows from a memory and each of the others, without their space: ids are still to be given.

    Which of the two came first does not matter: what is concluded, and of which time, is the same.
    """
    partners = [one for one in others if one.id != premise.id and not one.forgotten and not one.premises]
    if len(partners) > MOST_PARTNERS:
        return []
    return [
        _formed(said, premise, other)
        for other in sorted(partners, key=lambda one: one.id)
        for said in concluded(premise.text, other.text)
    ]


def named(memory: FormedMemory) -> str:
    """What makes it the memory it is: the same text from other memories is another conclusion."""
    return "\n".join((memory.text, "follows from", *sorted(one.target for one in memory.relations)))


def of_group(
    facts: Iterable[Known], groups: Mapping[str, Metadata | None], group: Metadata | None
) -> list[Known]:
    """Those that documents of this very group state, or of none where that is asked for."""
    return [one for one in facts if any(groups.get(source) == group for source in one.sources)]


def _formed(said: Conclusion, premise: Premise, other: Known) -> FormedMemory:
    both = sorted([(premise.id, premise.text), (other.id, other.text)])
    evidence = " + ".join(id_ for id_, _ in both)
    return FormedMemory(
        id="",
        text=said.text,
        is_static=is_static(said.text),
        is_inference=True,
        since=max(premise.when, other.when),
        relations=tuple(
            Relation(
                kind="derives",
                target=id_,
                why=f"{said.why}: {' | '.join(text for _, text in both)}",
                slot=said.rule,
                evidence=evidence,
                score=said.score,
            )
            for id_, _ in both
        ),
        by="rules",
    )
