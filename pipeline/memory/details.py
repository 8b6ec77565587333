"""What a new fact adds detail to: one that speaks of the same subject and shares a rare word. Pure.

Both stay true, so this hides nothing; it is drawn to the best parent only.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from pipeline.memory.verbs import BASES
from pipeline.ports import Neighbour, Neighbours
from pipeline.text.terms import term_hash, terms
from schemas.events import Relation

LEAST = 0.45
"""What the shared words must weigh, of all words of the shorter text without its subject."""
RARE_SHARE = 0.02
RARE_ROWS = 3
"""A shared word is rare when at most so many memories have it, or this share of them."""
_LEAD = re.compile(r"(?P<s>(?:The|Our|A|An) (?:[\w-]+)|[A-Z][\w-]*(?: [A-Z][\w-]*){0,2})(?P<own>'s)?(?: |$)")
_NEGATED = re.compile(r"\b(?:not|no longer|never|no|without|\w+n't|stopped|quit)\b")
_EMPTY_WORDS = (
    "is are was were has have had do does did got much part around happened since back stuff really able "
    "kind heard shared new old good great nice day time thing people lot way year "
    "week weekend month today tonight tomorrow yesterday now first last next every once twice again name "
    "named called email phone number address birthday favorite favourite learning using going living working "
    "running based employed brother sister son daughter child mother father friend wife husband "
    "january february march april may june july august september october november december monday tuesday "
    "wednesday thursday friday saturday sunday morning afternoon evening night one two three four five"
)


@cache
def _empty() -> frozenset[str]:
    """Terms that make no two facts about the same."""
    return frozenset(terms(f"{_EMPTY_WORDS} {' '.join(BASES)}"))


@dataclass(frozen=True, slots=True)
class Words:
    """A text as its content words, and whose it is."""

    text: str
    subject: str
    content: frozenset[str]
    named: frozenset[str]
    denied: bool


def read(text: str) -> Words:
    """The words of a fact."""
    match = _LEAD.match(text)
    subject = match["s"] if match is not None else ""
    own = frozenset(terms(subject))
    return Words(
        text=text,
        subject=subject.casefold(),
        content=frozenset(term for term in terms(text) if term not in _empty() and not term[0].isdigit())
        - own,
        named=own
        if subject[:1].isupper() and not subject.startswith(("The ", "Our ", "A ", "An "))
        else frozenset(),
        denied=_NEGATED.search(text) is not None,
    )


def parent(text: str, candidates: Iterable[Neighbour], known: Neighbours) -> Relation | None:
    """The relation `extends` to the best of the candidates; None where none is near enough."""
    new = read(text)
    weights = _Weights(known)
    scored = [
        (score, evidence, one)
        for one in candidates
        if (found := _shared(new, read(one.text), weights)) is not None
        for score, evidence in [found]
    ]
    if not scored:
        return None
    score, evidence, best = max(scored, key=lambda one: (one[0], one[2].id))
    return Relation(
        kind="extends",
        target=best.id,
        why=f"more about {new.subject or 'the same'}: shares {', '.join(evidence)}",
        evidence=", ".join(evidence),
        score=round(score, 3),
    )


def _shared(new: Words, old: Words, weights: "_Weights") -> tuple[float, Sequence[str]] | None:
    if new.denied != old.denied or not new.subject:
        return None
    if new.subject == old.subject:
        common = new.content & old.content
    elif new.named and new.named <= old.content:
        # What is said of Lina says more of whose friend she is.
        common = (new.content & old.content) | new.named
    else:
        return None
    rare = sorted(term for term in common if weights.is_rare(term))
    added = new.content - old.content
    if not rare or not added:
        return None
    shorter = min(weights.total(new.content), weights.total(old.content))
    score = min(1.0, weights.total(common) / shorter) if shorter else 0.0
    return (score, rare) if score >= LEAST else None


class _Weights:
    """How much a word says in its namespace."""

    def __init__(self, known: Neighbours) -> None:
        self._known = known
        self._rare = max(RARE_ROWS, known.rows * RARE_SHARE)

    def is_rare(self, term: str) -> bool:
        return self._frequency(term) <= self._rare

    def total(self, some: Iterable[str]) -> float:
        return math.fsum(math.log1p((self._known.rows + 10) / (1 + self._frequency(one))) for one in some)

    def _frequency(self, term: str) -> int:
        return self._known.frequencies.get(term_hash(term), 0)
