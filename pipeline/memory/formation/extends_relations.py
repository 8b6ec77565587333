"""`extends` relations: the memory to which a new fact adds detail, by subject and a shared rare word. Pure.

Both facts stay true, so a wrong relation hides nothing; only the best parent gets one.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import takewhile

from pipeline.memory.attributes.hypernyms import singular
from pipeline.memory.languages.english import english_words
from pipeline.ports import NearestMemories, NearestMemory
from pipeline.text.analyzer import term_hash, terms
from pipeline.text.english_verbs import ADVERBS, BASES, PASTS, is_finite, is_past, third_person, word_set
from pipeline.text.temporal_expressions import MONTHS
from schemas.events import Relation

CACHED_TEXTS = 2_048
"""Texts whose analysis is cached, about 2.5 KB each."""
MIN_SHARED_WEIGHT = 0.5
"""Minimum weight of the shared terms, as a share of all terms of the older text without its subject."""
MAX_RARE_SHARE = 0.02
PATTERN_MATCH_SCORE = 0.75
"""Score of a match by sentence pattern instead of term weights."""
MAX_RARE_ROWS = 3
"""A shared term is rare if at most this many memories, or MAX_RARE_SHARE of them, contain it."""
_LEAD = re.compile(r"(?P<s>(?:The|Our|A|An) (?:[\w-]+)|[A-Z][\w-]*(?: [A-Z][\w-]*){0,2})(?P<own>'s)?(?: |$)")
_NEGATED = re.compile(
    r"\b(?:not|no longer|never|no|without|\w+n't|stopped|quit|left|dropped|lost|sold|gave up|ended|cancelled|"
    r"canceled|moved out|broke up|used to|former)\b"
)
_SPOKEN = re.compile(r"[\w'-]+")
_INTRODUCED = re.compile(
    r"\b(?:is|are|named|called|married to|married|dating) (?P<name>[A-Z][\w-]*(?: [A-Z][\w-]*)?)(?=[,.]|$| and\b)"
)
_HELPING = word_set("is are was were has have had")
_BEING = word_set("is are was were been became becomes")
_OWNERS = word_set("their his her its my our")
_PREPOSITIONS = english_words("detail_prepositions")
_NEXT_TO = re.compile(r"\b(?:next|close) to\b")
_HAVING = word_set("has have owns keeps got adopted")
_BEGINNING = _HAVING | word_set("bought rented joined started began became married founded opened launched built moved")
"""Verbs of events that leave something of which one may say more."""
_ANOTHER = re.compile(r"\b(?:another|again|second|third|next)\b")
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})(?: \d{{4}})?\b")
_DOING = english_words("verbs_of_doing")
_LEARNING = word_set("learned learnt learns started began studied practises practices teaches taught")
_LIKING = word_set("likes loves enjoys plays practises practices does")
_WHEN = re.compile(
    r"\bis (?P<when>(?:on|in|at) (?:[\w:]+ ){0,2}?"
    rf"(?:[A-Z][a-z]+day|{'|'.join(MONTHS)}|noon|\d[\d:]*)\b(?: \d{{4}})?)$"
)
_FAVOURITE = re.compile(r"\b(?:favou?rite [\w ]+ is|is a fan of|supports|roots for) (?P<name>[A-Z][\w-]*)$")
_ATTRIBUTES = "diet owner owned owns role position title status nationality religion hometown favourite"
"""Words that merely name the attribute whose value is stated."""


@cache
def _stop_terms() -> frozenset[str]:
    """Return terms that never relate two facts."""
    verbs = " ".join((*BASES, *map(third_person, BASES), *PASTS))
    return frozenset(terms(" ".join((*english_words("empty_in_extends"), verbs))))


@cache
def _attribute_terms() -> frozenset[str]:
    return frozenset(terms(_ATTRIBUTES))


@dataclass(frozen=True, slots=True)
class FactTerms:
    """A text analyzed into content terms.

    `first_content_term`: the first one after the verb. `possessed_terms`: what belongs to somebody (`their
    boat`, `Ann's boat`). `possessed_head`: the last word of what belongs to the subject, if the text is
    about that. `prepositional_terms`: content terms with the preposition before them.
    `introduced_name_terms`: the name that the text introduces (`Ann's friend is Lina`).
    """

    text: str
    subject: str
    content_terms: frozenset[str]
    name_terms: frozenset[str]
    is_negated: bool
    verb: str
    first_content_term: str | None
    possessed_terms: frozenset[str]
    prepositional_terms: frozenset[tuple[str, str]]
    is_past_event: bool
    introduced_name_terms: frozenset[str]
    words_after_subject: tuple[str, ...]
    possessed_head: str | None


@lru_cache(maxsize=CACHED_TEXTS)
def analyze_fact(text: str) -> FactTerms:
    """Analyze a fact. Cached, because neighbors recur and one analysis takes 0.1 ms."""
    match = _LEAD.match(text)
    subject = match["s"] if match is not None else ""
    subject_terms = frozenset(terms(subject))
    remainder = _NEXT_TO.sub("beside", text[match.end() :].casefold()) if match is not None else ""
    words_after_subject = _SPOKEN.findall(remainder)
    is_owner = match is not None and match["own"] is not None
    verb = "" if is_owner else _main_verb(words_after_subject)
    return FactTerms(
        text=text,
        subject=subject.casefold(),
        content_terms=frozenset(filter(_is_content_term, terms(text))) - subject_terms,
        name_terms=subject_terms
        if subject[:1].isupper() and not subject.startswith(("The ", "Our ", "A ", "An "))
        else frozenset(),
        is_negated=_NEGATED.search(text) is not None,
        verb=verb,
        first_content_term=next(filter(_is_content_term, terms(" ".join(words_after_subject))), None),
        possessed_terms=frozenset(
            [*_possessed_terms(words_after_subject), *(_phrase_terms(words_after_subject)[-1:] if is_owner else ())]
        ),
        prepositional_terms=frozenset(_prepositional_terms(words_after_subject)),
        is_past_event=is_past(verb),
        introduced_name_terms=_introduced_name_terms(text),
        words_after_subject=tuple(words_after_subject),
        possessed_head=_possessed_head(words_after_subject) if is_owner else None,
    )


def _subject(text: str) -> str:
    return match["s"].casefold() if (match := _LEAD.match(text)) else ""


def _introduced_name_terms(text: str) -> frozenset[str]:
    return frozenset(terms(match["name"])) if (match := _INTRODUCED.search(text)) else frozenset()


def _main_verb(words_after_subject: Sequence[str]) -> str:
    """Return the main verb without tense auxiliaries and adverbs: `is learning`, `really likes`."""
    content_words = [word for word in words_after_subject if word not in ADVERBS]
    if (
        len(content_words) > 1
        and content_words[0] in _HELPING
        and (content_words[1].endswith("ing") or content_words[1] == "been")
    ):
        content_words = content_words[1:]
    return "" if not content_words else "is" if content_words[0] in _BEING else content_words[0]


def _possessed_terms(phrase_words: Sequence[str]) -> Iterator[str]:
    """Yield the first and last term of each phrase after a possessive: `their motorbike red`."""
    for index, word in enumerate(phrase_words):
        if word in _OWNERS:
            phrase_terms = _phrase_terms(phrase_words[index + 1 :])
            yield from (*phrase_terms[:1], *phrase_terms[-1:])


def _phrase_terms(phrase_words: Sequence[str]) -> list[str]:
    return [term for term in terms(" ".join(_leading_phrase(phrase_words))) if _is_content_term(term)]


def _possessed_head(words_after_subject: Sequence[str]) -> str | None:
    """Return the last word before the verb; plurals leave the verb uninflected (`Omar's sisters study`)."""
    following_words = takewhile(lambda word: word not in BASES, _leading_phrase(words_after_subject[1:]))
    return [*words_after_subject[:1], *following_words][-1] if words_after_subject else None


def _leading_phrase(phrase_words: Sequence[str]) -> list[str]:
    """Return the words up to the next preposition or verb."""
    return list(takewhile(lambda word: word not in _PREPOSITIONS and not is_finite(word), phrase_words))


def _prepositional_terms(phrase_words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for index, word in enumerate(phrase_words):
        if word in _PREPOSITIONS:
            phrase = list(takewhile(lambda word: word not in _PREPOSITIONS, phrase_words[index + 1 :]))
            if word == "to" and phrase and phrase[0] in BASES:
                continue
            yield from ((word, term) for term in filter(_is_content_term, terms(" ".join(phrase))))


def _is_content_term(term: str) -> bool:
    """Return whether a term has content; one or two ASCII letters are remains of words, in other scripts
    bigrams.
    """
    return term not in _stop_terms() and not term[0].isdigit() and (len(term) > 2 or not term.isascii())


def find_extends_relation(
    text: str, candidates: Iterable[NearestMemory], neighbors: NearestMemories
) -> Relation | None:
    """Return the `extends` relation to the best candidate; None if none is near enough."""
    new = analyze_fact(text)
    if not new.subject:
        return None
    weights = _TermWeights(neighbors)
    scored = [
        (score, evidence, candidate)
        for candidate in candidates
        if _shares_subject(new, candidate.text)
        and (match := _match_score(new, analyze_fact(candidate.text), weights)) is not None
        for score, evidence in [match]
    ]
    if not scored:
        return None
    score, evidence, best = max(scored, key=lambda scored_candidate: (scored_candidate[0], scored_candidate[2].id))
    return Relation(
        kind="extends",
        target=best.id,
        reason=f"more about {new.subject or 'the same'}: shares {', '.join(evidence)}",
        evidence=", ".join(evidence),
        score=round(score, 3),
    )


def _shares_subject(new: FactTerms, text: str) -> bool:
    """Return whether a text has the same subject or introduces it, without analyzing the rest."""
    return _subject(text) == new.subject or (bool(new.name_terms) and _introduced_name_terms(text) == new.name_terms)


def _match_score(new: FactTerms, old: FactTerms, weights: "_TermWeights") -> tuple[float, Sequence[str]] | None:
    if new.is_negated != old.is_negated or _has_other_object(new, old) or _is_other_event(new, old):
        return None
    if new.subject == old.subject:
        common = new.content_terms & old.content_terms
    elif new.name_terms and new.name_terms == old.introduced_name_terms:
        # `Lina lives in Rome` adds detail to `Ann's friend is Lina`.
        common = (new.content_terms & old.content_terms) | new.name_terms
    else:
        return None
    if new.subject == old.subject and (matched_word := _match_pattern(new, old)) is not None:
        return PATTERN_MATCH_SCORE, [matched_word]
    rare = sorted(term for term in common if weights.is_rare(term))
    if new.subject == old.subject and not _is_about(new, old, rare):
        return None
    added_terms = new.content_terms - old.content_terms - _attribute_terms()
    total_weight = weights.total(old.content_terms)
    if not rare or not added_terms or not total_weight:
        return None
    score = min(1.0, weights.total(common) / total_weight)
    return (score, rare) if score >= MIN_SHARED_WEIGHT else None


def _match_pattern(new: FactTerms, old: FactTerms) -> str | None:
    """Return the word of the older fact that the newer continues by its form, however common; None without
    one.

    Covers possessions, days of events, habits and favorites.
    """
    if not new.content_terms - old.content_terms - _attribute_terms():
        return None
    if new.possessed_head is not None and old.verb in _HAVING and singular(new.possessed_head) in _possessions(old):
        return new.possessed_head
    if (event_time := _WHEN.search(old.text)) is not None and f" {event_time['when']} " in f"{new.text} ":
        return event_time["when"]
    if (
        new.verb == old.verb
        and new.verb in _DOING
        and not old.content_terms
        and not _PREPOSITIONS.isdisjoint(new.words_after_subject[1:2])
    ):
        return new.verb
    if old.verb in _LIKING and new.verb in _LEARNING and old.words_after_subject[-1] in new.words_after_subject[1:3]:
        return old.words_after_subject[-1]
    if (name := _FAVOURITE.search(old.text)) is not None and not new.is_past_event and name["name"] in new.text.split():
        return name["name"]
    return None


def _possessions(old: FactTerms) -> set[str]:
    """Return the last words of possessions: `a dog and two cats`."""
    object_words = takewhile(lambda word: word not in _PREPOSITIONS, old.words_after_subject[1:])
    return {singular(phrase.split()[-1]) for phrase in " ".join(object_words).split(" and ") if phrase}


def _has_other_object(new: FactTerms, old: FactTerms) -> bool:
    """Return whether both facts have the same verb with different objects: church versus therapy."""
    return (
        bool(new.verb)
        and new.verb == old.verb
        and old.first_content_term is not None
        and old.first_content_term not in new.content_terms
    )


def _is_other_event(new: FactTerms, old: FactTerms) -> bool:
    """Return whether the older fact is over once it was told, and the newer tells of something else.

    One may say more of a state, of what began with an event (`bought a van`), and of an event told again.
    """
    if _ANOTHER.search(new.text) and not _ANOTHER.search(old.text):
        return True
    months, known = set(_MONTH.findall(new.text)), set(_MONTH.findall(old.text))
    if months and known and months.isdisjoint(known):
        return True
    is_told_again = (
        "just" not in old.words_after_subject and new.verb == old.verb and old.content_terms <= new.content_terms
    )
    return old.is_past_event and old.verb not in _BEGINNING and not is_told_again


def _is_about(new: FactTerms, old: FactTerms, rare: Sequence[str]) -> bool:
    """Return whether the shared terms are what the older fact is about, not an incidental mention.

    A text no longer than the older one replaces or rephrases it.
    """
    if (
        new.possessed_head is not None
        and old.first_content_term in rare
        and old.first_content_term in terms(new.possessed_head)
    ):
        return True
    if len(new.text.split()) <= len(old.text.split()) or _is_compound_modifier(new, old):
        return False
    if len(rare) > 1 or not new.possessed_terms.isdisjoint(rare):
        return True
    if new.verb and new.verb == old.verb:
        return not new.is_past_event or old.content_terms <= new.content_terms
    return not new.is_past_event and any(word in rare for _, word in new.prepositional_terms & old.prepositional_terms)


def _is_compound_modifier(new: FactTerms, old: FactTerms) -> bool:
    """Return whether the shared word only modifies another noun: a cold brew is no cold."""
    if (
        not old.words_after_subject
        or old.verb != new.verb
        or old.words_after_subject[-1] not in new.words_after_subject[:-1]
    ):
        return False
    following = new.words_after_subject[new.words_after_subject.index(old.words_after_subject[-1]) + 1]
    return following not in _PREPOSITIONS | ADVERBS and any(map(_is_content_term, terms(following)))


class _TermWeights:
    """Inverse document frequencies of terms in a namespace."""

    def __init__(self, neighbors: NearestMemories) -> None:
        self._neighbors = neighbors
        self._max_rare_rows = max(MAX_RARE_ROWS, neighbors.row_count * MAX_RARE_SHARE)

    def is_rare(self, term: str) -> bool:
        return self._frequency(term) <= self._max_rare_rows

    def total(self, terms: Iterable[str]) -> float:
        return math.fsum(math.log1p((self._neighbors.row_count + 10) / (1 + self._frequency(term))) for term in terms)

    def _frequency(self, term: str) -> int:
        return self._neighbors.document_frequencies.get(term_hash(term), 0)
