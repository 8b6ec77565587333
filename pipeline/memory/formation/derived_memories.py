"""Memories derived from a document's facts together with known facts of its namespace."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pipeline.memory.grammar.permanence import is_static
from pipeline.memory.inference.inference_rules import Conclusion, apply_rules
from pipeline.memory.versioning.fact_comparison import FactRecord
from schemas.base import Metadata
from schemas.events import FormedMemory, Relation

MAX_INFERENCE_NAMESPACE_MEMORIES = 20_000
"""Memories of a namespace up to which inferences are drawn; in larger ones a first name is ambiguous."""
MAX_PREMISE_PARTNERS = 20
"""Partners of one premise; a name shared by more memories is ambiguous."""
MAX_CONCLUSIONS_PER_DOCUMENT = 100
"""Conclusions drawn from one document."""


@dataclass(frozen=True, slots=True)
class Premise:
    """A memory from which something may follow, and the time it is about."""

    id: str
    text: str
    valid_time: datetime


def derive_memories(premise: Premise, others: Sequence[FactRecord]) -> list[FormedMemory]:
    """Return the memories that follow from a premise and each of the others, without id and incarnation.

    The result does not depend on which of the two was stated first.
    """
    partners = [fact for fact in others if fact.id != premise.id and not fact.is_forgotten and not fact.premises]
    if len(partners) > MAX_PREMISE_PARTNERS:
        return []
    return [
        _to_formed_memory(conclusion, premise, other)
        for other in sorted(partners, key=lambda fact: fact.id)
        for conclusion in apply_rules(premise.text, other.text)
    ]


def identity_text(memory: FormedMemory) -> str:
    """Return the text that identifies a conclusion: its own and the ids of its premises."""
    return "\n".join((memory.text, "follows from", *sorted(relation.target for relation in memory.relations)))


def stated_in_group(
    facts: Iterable[FactRecord], groups: Mapping[str, Metadata | None], group: Metadata | None
) -> list[FactRecord]:
    """Return the facts stated by documents with exactly this group metadata (None: without any)."""
    return [fact for fact in facts if any(groups.get(source) == group for source in fact.sources)]


def _to_formed_memory(conclusion: Conclusion, premise: Premise, other: FactRecord) -> FormedMemory:
    premises = sorted([(premise.id, premise.text), (other.id, other.text)])
    evidence = " + ".join(id_ for id_, _ in premises)
    return FormedMemory(
        id="",
        text=conclusion.text,
        is_static=is_static(conclusion.text),
        is_inference=True,
        effective_at=max(premise.valid_time, other.valid_time),
        relations=tuple(
            Relation(
                kind="derives",
                target=id_,
                reason=f"{conclusion.reason}: {' | '.join(text for _, text in premises)}",
                attribute=conclusion.rule,
                evidence=evidence,
                score=conclusion.score,
            )
            for id_, _ in premises
        ),
        extracted_by="rules",
    )
