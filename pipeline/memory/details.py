"""What a new fact adds detail to: one that speaks of the same subject and shares a rare word. Pure.

Both stay true, so this hides nothing; it is drawn to the best parent only.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import takewhile

from pipeline.memory.slots.kinds import singular
from pipeline.memory.verbs import ADVERBS, BASES, PASTS, is_finite, is_past, third_person, words
from pipeline.ports import Neighbour, Neighbours
from pipeline.text.terms import term_hash, terms
from schemas.events import Relation

READ = 2_048
"""Texts of which the words are kept, about 2.5 KB each."""
LEAST = 0.5
"""What the shared words must weigh, of all words of the older text without its subject."""
RARE_SHARE = 0.02
NAMED = 0.75
"""How sure it is where the form says it, not the weight of words."""
RARE_ROWS = 3
"""A shared word is rare when at most so many memories have it, or this share of them."""
_LEAD = re.compile(r"(?P<s>(?:The|Our|A|An) (?:[\w-]+)|[A-Z][\w-]*(?: [A-Z][\w-]*){0,2})(?P<own>'s)?(?: |$)")
_NEGATED = re.compile(
    r"\b(?:not|no longer|never|no|without|\w+n't|stopped|quit|left|dropped|lost|sold|gave up|ended|cancelled|"
    r"canceled|moved out|broke up|used to|former)\b"
)
_SPOKEN = re.compile(r"[\w'-]+")
_INTRODUCED = re.compile(
    r"\b(?:is|are|named|called|married to|married|dating) (?P<name>[A-Z][\w-]*(?: [A-Z][\w-]*)?)"
    r"(?=[,.]|$| and\b)"
)
_HELPING = words("is are was were has have had")
_BEING = words("is are was were been became becomes")
_OWNERS = words("their his her its my our")
_PREPOSITIONS = words(
    "at in on to for with from of as about near by into along across through around over under behind beside "
    "between before after during without towards"
)
_NEXT_TO = re.compile(r"\b(?:next|close) to\b")
_HAVING = words("has have owns keeps got adopted")
_DOING = words(
    "runs swims cycles rows hikes climbs dances sings paints cooks bakes volunteers gardens knits sews "
    "fishes sails surfs skis boxes rides trains writes draws"
)
"""What is told of these says more about the habit."""
_LEARNING = words("learned learnt learns started began studied practises practices teaches taught")
_LIKING = words("likes loves enjoys plays practises practices does")
_WHEN = re.compile(
    r"\bis (?P<when>(?:on|in|at) (?:[\w:]+ ){0,2}?(?:[A-Z][a-z]+day|January|February|March|April|May|June|"
    r"July|August|September|October|November|December|noon|\d[\d:]*)\b(?: \d{4})?)$"
)
_FAVOURITE = re.compile(r"\b(?:favou?rite [\w ]+ is|is a fan of|supports|roots for) (?P<name>[A-Z][\w-]*)$")
_EMPTY_WORDS = (
    "is are was were has have had do does did got much part around happened since back stuff really able "
    "kind heard shared new old good great nice day time thing people lot way year week weekend month "
    "today tonight tomorrow yesterday now first last next every once twice again name named called email "
    "phone number address birthday favorite favourite learning using going living working running based "
    "employed brother sister son daughter child mother father friend wife husband january february march "
    "april may june july august september october november december monday tuesday wednesday thursday "
    "friday saturday sunday morning afternoon evening night one two three four five lately nearby still "
    "something someone anything everything everyone somebody little proud excited thankful grateful happy "
    "sad glad fun different similar important special hard easy awesome amazing cool fantastic wonderful "
    "lovely best better big small huge long short whole full sure ready busy tired super gone more most "
    "many few lots couple bit kinda sort yet already together alone others difference chance support "
    "inspired inspiring motivated struggling feeling feelings half another else"
)
_ATTRIBUTES = "diet owner owned owns role position title status nationality religion hometown favourite"
"""What only says in other words whose value something is."""


@cache
def _empty() -> frozenset[str]:
    """Terms that make no two facts about the same."""
    verbs = " ".join((*BASES, *map(third_person, BASES), *PASTS))
    return frozenset(terms(f"{_EMPTY_WORDS} {verbs}"))


@cache
def _attributes() -> frozenset[str]:
    return frozenset(terms(_ATTRIBUTES))


@dataclass(frozen=True, slots=True)
class Words:
    """A text as its content words, and whose it is.

    `verb`, and the first content word behind it; `own`: what is somebody's (`their boat`, `Ann's boat`);
    `placed`: content words with the preposition before them; `past`: it tells what happened once;
    `introduces`: the name of whom or what it speaks of.
    """

    text: str
    subject: str
    content: frozenset[str]
    named: frozenset[str]
    denied: bool
    verb: str
    first: str | None
    own: frozenset[str]
    placed: frozenset[tuple[str, str]]
    past: bool
    introduces: frozenset[str]
    behind: tuple[str, ...]
    owner_of: str | None
    """The last word of what is the subject's own, where the text is about that (`Ann's sailing boat is`)."""


@lru_cache(maxsize=READ)
def read(text: str) -> Words:
    """The words of a fact. Neighbours are the same again and again, and reading one takes 0.1 ms."""
    match = _LEAD.match(text)
    subject = match["s"] if match is not None else ""
    own = frozenset(terms(subject))
    rest = _NEXT_TO.sub("beside", text[match.end() :].casefold()) if match is not None else ""
    behind = _SPOKEN.findall(rest)
    is_owner = match is not None and match["own"] is not None
    verb = "" if is_owner else _verb(behind)
    return Words(
        text=text,
        subject=subject.casefold(),
        content=frozenset(filter(_says_something, terms(text))) - own,
        named=own
        if subject[:1].isupper() and not subject.startswith(("The ", "Our ", "A ", "An "))
        else frozenset(),
        denied=_NEGATED.search(text) is not None,
        verb=verb,
        first=next(filter(_says_something, terms(" ".join(behind))), None),
        own=frozenset([*_owned(behind), *(_thing(behind)[-1:] if is_owner else ())]),
        placed=frozenset(_placed(behind)),
        past=is_past(verb),
        introduces=_introduced(text),
        behind=tuple(behind),
        owner_of=_owned_by(behind) if is_owner else None,
    )


def _subject(text: str) -> str:
    return match["s"].casefold() if (match := _LEAD.match(text)) else ""


def _introduced(text: str) -> frozenset[str]:
    return frozenset(terms(said["name"])) if (said := _INTRODUCED.search(text)) else frozenset()


def _verb(behind: Sequence[str]) -> str:
    """What is done, without what only says when: `is learning`, `has been married`, `really likes`."""
    said = [one for one in behind if one not in ADVERBS]
    if len(said) > 1 and said[0] in _HELPING and (said[1].endswith("ing") or said[1] == "been"):
        said = said[1:]
    return "" if not said else "is" if said[0] in _BEING else said[0]


def _owned(said: Sequence[str]) -> Iterator[str]:
    """What stands behind `their`, and what ends the phrase: `their motorbike red`, `their sailing boat`."""
    for place, one in enumerate(said):
        if one in _OWNERS:
            thing = _thing(said[place + 1 :])
            yield from (*thing[:1], *thing[-1:])


def _thing(said: Sequence[str]) -> list[str]:
    """The content words of a phrase."""
    return [term for term in terms(" ".join(_phrase(said))) if _says_something(term)]


def _owned_by(behind: Sequence[str]) -> str | None:
    """The last word before the verb, which has no ending behind several (`Omar's sisters study`)."""
    more = takewhile(lambda word: word not in BASES, _phrase(behind[1:]))
    return [*behind[:1], *more][-1] if behind else None


def _phrase(said: Sequence[str]) -> list[str]:
    """The words up to the next preposition or verb."""
    return list(takewhile(lambda word: word not in _PREPOSITIONS and not is_finite(word), said))


def _placed(said: Sequence[str]) -> Iterator[tuple[str, str]]:
    for place, one in enumerate(said):
        if one in _PREPOSITIONS:
            phrase = list(takewhile(lambda word: word not in _PREPOSITIONS, said[place + 1 :]))
            if one == "to" and phrase and phrase[0] in BASES:
                continue
            yield from ((one, term) for term in filter(_says_something, terms(" ".join(phrase))))


def _says_something(term: str) -> bool:
    """Single letters and pairs of them are remains of words, but not in scripts that are cut into pairs."""
    return term not in _empty() and not term[0].isdigit() and (len(term) > 2 or not term.isascii())


def parent(text: str, candidates: Iterable[Neighbour], known: Neighbours) -> Relation | None:
    """The relation `extends` to the best of the candidates; None where none is near enough."""
    new = read(text)
    if not new.subject:
        return None
    weights = _Weights(known)
    scored = [
        (score, evidence, one)
        for one in candidates
        if _concerns(new, one.text) and (found := _shared(new, read(one.text), weights)) is not None
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


def _concerns(new: Words, text: str) -> bool:
    """Whether a text has the same subject, or introduces it; what else it says need not be read otherwise."""
    return _subject(text) == new.subject or (bool(new.named) and _introduced(text) == new.named)


def _shared(new: Words, old: Words, weights: "_Weights") -> tuple[float, Sequence[str]] | None:
    if new.denied != old.denied or _speaks_of_another(new, old):
        return None
    if new.subject == old.subject:
        common = new.content & old.content
    elif new.named and new.named == old.introduces:
        # What is said of Lina says more of whose friend she is.
        common = (new.content & old.content) | new.named
    else:
        return None
    if new.subject == old.subject and (named := _names_it(new, old)) is not None:
        return NAMED, [named]
    rare = sorted(term for term in common if weights.is_rare(term))
    if new.subject == old.subject and not _is_about(new, old, rare):
        return None
    added = new.content - old.content - _attributes()
    whole = weights.total(old.content)
    if not rare or not added or not whole:
        return None
    score = min(1.0, weights.total(common) / whole)
    return (score, rare) if score >= LEAST else None


def _names_it(new: Words, old: Words) -> str | None:
    """What the newer takes up of the older by its form, however common its words are; None for nothing.

    Somebody's own of what they have, the day that something is on, a habit, a favourite.
    """
    if not new.content - old.content - _attributes():
        return None
    if new.owner_of is not None and old.verb in _HAVING and singular(new.owner_of) in _had(old):
        return new.owner_of
    if (when := _WHEN.search(old.text)) is not None and f" {when['when']} " in f"{new.text} ":
        return when["when"]
    if (
        new.verb == old.verb
        and new.verb in _DOING
        and not old.content
        and not _PREPOSITIONS.isdisjoint(new.behind[1:2])
    ):
        return new.verb
    if old.verb in _LIKING and new.verb in _LEARNING and old.behind[-1] in new.behind[1:3]:
        return old.behind[-1]
    if (
        (name := _FAVOURITE.search(old.text)) is not None
        and not new.past
        and name["name"] in new.text.split()
    ):
        return name["name"]
    return None


def _had(old: Words) -> set[str]:
    """The last words of what somebody has: `a dog and two cats`."""
    said = takewhile(lambda word: word not in _PREPOSITIONS, old.behind[1:])
    return {singular(one.split()[-1]) for one in " ".join(said).split(" and ") if one}


def _speaks_of_another(new: Words, old: Words) -> bool:
    """Going to church says nothing about going to therapy."""
    return bool(new.verb) and new.verb == old.verb and old.first is not None and old.first not in new.content


def _is_about(new: Words, old: Words, rare: Sequence[str]) -> bool:
    """Whether what both mention is what the older is about: a word alone may stand anywhere.

    What is no longer than the older puts something else in its place, or says it in other words.
    """
    if new.owner_of is not None and old.first in rare and old.first in terms(new.owner_of):
        return True
    if len(new.text.split()) <= len(old.text.split()) or _is_part_of_another(new, old):
        return False
    if len(rare) > 1 or not new.own.isdisjoint(rare):
        return True
    if new.verb and new.verb == old.verb:
        return not new.past or old.content <= new.content
    return not new.past and any(word in rare for _, word in new.placed & old.placed)


def _is_part_of_another(new: Words, old: Words) -> bool:
    """A cold brew is no cold."""
    if not old.behind or old.verb != new.verb or old.behind[-1] not in new.behind[:-1]:
        return False
    following = new.behind[new.behind.index(old.behind[-1]) + 1]
    return following not in _PREPOSITIONS | ADVERBS and any(map(_says_something, terms(following)))


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
