"""Outline of an English statement, by lists of words and its noun phrases instead of a grammar of sentences. Pure.

For what no attribute pattern has understood: it is known only roughly what is said.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import count

from pipeline.memory.languages.english import (
    english_marks,
    english_numbers,
    english_pattern,
    english_words,
    kinds_of_one,
    state_changes,
)
from pipeline.memory.outlines.figures import TOKEN, english_figures
from pipeline.memory.outlines.noun_phrases import begins_aside, holder_of, phrase_of, phrases_of, split_at_verb
from pipeline.memory.outlines.other_things import named_things
from pipeline.memory.outlines.statement import Phrase, Statement
from pipeline.memory.outlines.vocabulary import BE, HAVE, is_content, stem, stems
from pipeline.memory.outlines.wording import with_thing_first
from pipeline.text.english_nouns import RELATIVES
from pipeline.text.english_verbs import BASES
from pipeline.text.succession import ADDED, PASSING, PAST

_OBJECT = "(?P<object>[^,;.!?()]+)"
_SUBJECT_ENDED = re.compile(
    r"^(?P<subject>(?:(?!(?:had|has|have|is|was|are|to|not|never|almost)\b)[\w'-]+ ){1,5}?)(?<!n't )"
    r"(?:(?:has|have|is|are|was|were|been|got|just|now|finally|sadly|all) )*"
    rf"(?:(?:{english_pattern('subject_ends')})\b(?! (?:up|with|to|for(?! good)|at|early|work|home|on)\b)"
    r"|(?:over|off|finished|history|done)(?=$| (?:for good|now|since)\b))",
    re.IGNORECASE,
)
_ARTICLE = "(?:an?|the|some|their|his|her|its|our|User's)"
_GIVEN = re.compile(rf" (?:an?|some|two|three|her|his|their|User {_ARTICLE})\b", re.IGNORECASE)
_OBJECT_FOLLOWS = re.compile(rf" (?:(?:User )?{_ARTICLE}\b|(?-i:(?!User\b)[A-Z]))", re.IGNORECASE)
_PASSIVE = re.compile(r"\b(?:is|are|was|were|been|got)\b", re.IGNORECASE)
_HOME_OF = re.compile(r"\b(?P<owner>[\w-]+?)(?:'s|s') (?:place|house|flat|home|apartment)\b", re.IGNORECASE)
_FOR_GOOD = re.compile(r"\b(?:for good|forever|permanently)\b")
_FETCHED = re.compile(
    r"\b(?:picked up|collected|fetched|got) (?P<thing>[\w' -]{2,40}?) (?:back )?from (?P<place>[\w' -]{2,40})"
)
_NUMBERED = re.compile(r"\b(?:number|no\.|nr\.?) (?=\d)")
_NUMBER = re.compile(r"\d[\d.]*[a-z]?|[A-Z]")
_PARTS = re.compile("[,;.!?] ")
_PRESENT_YEAR = re.compile(r"^((?:User|[A-Z][\w-]+)(?:'s [\w-]+)? (?:is|are|has|lives|works|studies)\b.*) in 20\d\d$")
"""What `this year` became in a memory: `is in halls in 2026`."""
_FIRST = re.compile(r"\bfirst (?:time|name)\b")
_ALONG = re.compile(r", [\w' ]{2,24} too$")
"""Who or what comes along: `moved in with my sister, biscuit too`."""
_NAMED = re.compile(r"(?:(?:an?|some) (?:[a-z]+ ){1,3}(?:called|named) )?(?:(?:called|named|now) )*[A-Z]")
_OTHER = re.compile(r"\bother\b")
_OF_USER = re.compile(r"^(?!User)[A-Z][\w.-]+(?: [A-Z][\w.-]+)* is (?:now )?User's (?:[\w-]+ )*(?P<role>[a-z-]+)$")
_RELATIVE = re.compile(rf" (?:who|which|that) (?=(?:(?:{'|'.join(sorted(BASES))})(?:e?s)?|is|are|was|has)\b)")
"""What joins to a thing what is said of it, and not of whom the statement is about: `desserts that work for all`."""
_FRONTED = re.compile(r"^(?:Since|After|As of|From|Before|With|At|In|On) [^,]{2,40}?,? (?=User\b)")


def english_outline(text: str, with_days: str = "") -> Statement:
    """Return the outline of a statement without its days; `with_days`: the same as it was said."""
    text = _NUMBERED.sub("", with_thing_first(text))
    subject, verb, rest = split_at_verb(_FRONTED.sub("", text))
    holder, topic = holder_of(subject)
    owner, _, relation = holder.partition(" ")
    if verb == BE and subject.split()[-1] == relation in RELATIVES and topic is None and _NAMED.match(rest):
        # `User's boyfriend is Jake` is about the user
        holder, topic = owner, phrase_of(subject.lower().split()[len(owner.split()) :])
    strong, weak = _ended(text)
    kinds, after_altering = kinds_of_one(), _said_after("altering", text)
    said = [word for word in TOKEN.findall(text) if is_content(word)]
    marks = {*_marks(text), *_marks_of_days(with_days)} | ({"added"} if _OTHER.search(subject) else set())
    marks |= {"altering"} if _altering().fullmatch(verb) else set()
    return Statement(
        holder=holder,
        topic=topic,
        verb=verb if verb in (BE, HAVE) else stem(verb),
        objects=tuple(phrases_of(_RELATIVE.split(rest)[0])),
        words=frozenset({*map(stem, said)} - {""}),
        names=frozenset({stem(word) for word in said if word[0].isupper()} - {"", *map(stem, holder.split())}),
        figures=tuple(english_figures(text)),
        ended=tuple(strong),
        loosely_ended=tuple(weak),
        altered=_first_phrases(said for said in after_altering if not begins_aside(said)),
        turned_to=_first_phrases(filter(begins_aside, after_altering)),
        begun=_first_phrases(_said_after("beginning", text)),
        obtained=_first_phrases(_said_after("obtaining", text)),
        number=_number_of(subject),
        marks=frozenset(marks | ({"role"} if _role(text, topic) in stems("roles") else set())),
        one_of=frozenset(named_things(text, kinds, kinds)) if "further" not in marks else frozenset(),
        state=frozenset(_states(text)),
        passed_state=frozenset(name for name, (_, end) in state_changes().items() if end.search(text)),
    )


def _number_of(subject: str) -> str:
    """Return the number or letter after the noun of a subject.

    >>> _number_of("Room two"), _number_of("The second gate B"), _number_of("Two hoses")
    ('2', 'B', '')
    """
    _, *after = subject.split()
    last = english_numbers().get(after[-1].lower(), after[-1]) if after else ""
    return last if _NUMBER.fullmatch(last) else ""


def _states(text: str) -> Iterator[str]:
    """Yield the passing states that hold, and none of what is only wished: `is thinking of working with her`."""
    wish = english_marks("marks")["wish"].search(text)
    for name, (state, _) in state_changes().items():
        found = state.search(text)
        if found is not None and (wish is None or found.start() <= wish.start()):
            yield name


def _marks(text: str) -> Iterator[str]:
    """Yield what a statement says by its words."""
    yield from (mark for mark, said in english_marks("marks").items() if said.search(text) is not None)
    if PAST.search(_FIRST.sub("", _PRESENT_YEAR.sub(r"\1", text))) is not None:
        yield "past"
    if PASSING.search(text) is not None:
        yield "passing"
    if ADDED.search(_ALONG.sub("", text)) is not None:
        yield "added"


_FROM_DAYS = {
    "planned": ("unreal",),
    "lately": ("changed", "now"),
    "since_day": ("changed", "now"),
    "settled": ("changed", "now", "home"),
}
"""What it means that something will be, or has been so for a while."""


def _marks_of_days(text: str) -> Iterator[str]:
    """Yield what a statement says by its days: `User has been in Bruges since March` of a home and a change."""
    for mark, said in english_marks("marks_with_days").items():
        if said.search(text) is not None:
            yield from _FROM_DAYS.get(mark, (mark,))


def _role(text: str, topic: Phrase | None) -> str:
    """Return what somebody is to the user: the manager of `Emma is User's manager`."""
    of = _OF_USER.match(text)
    return topic.head if topic is not None else stem(of["role"]) if of is not None else ""


@cache
def _objects(verbs: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{english_pattern(f'{verbs}_verbs')}) {_OBJECT}", re.IGNORECASE)


@cache
def _altering() -> re.Pattern[str]:
    """Return the pattern of a verb that says that its subject is other than it was: `went`, `moved`."""
    return re.compile(rf"got|{english_pattern('changed_words')}", re.IGNORECASE)


def _said_after(verbs: str, text: str) -> list[str]:
    """Return what follows verbs of a list, up to a comma."""
    return [match["object"] for match in _objects(verbs).finditer(text)]


def _first_phrases(said: Iterable[str]) -> tuple[Phrase, ...]:
    return tuple(phrase for words in said for phrase in phrases_of(words)[:1])


@cache
def _ends() -> re.Pattern[str]:
    """Return the pattern of verbs with what they say is over: `sold the car`, `gave the cello back`."""
    parts, strong, weak = (english_pattern(f"{kind}_ends") for kind in ("parted", "strong", "weak"))
    numbers = count()
    parted = re.sub("\u2026 ", lambda _: rf"(?P<part{next(numbers)}>(?!User )(?:[\w'-]+ ){{1,4}}?)", parts)
    return re.compile(rf"\b(?:{parted})\b|\b(?:(?P<strong>{strong})|(?P<weak>{weak})) {_OBJECT}", re.IGNORECASE)


def _ended(text: str) -> tuple[list[Phrase], list[Phrase]]:
    """Return what a statement says is over, in words that say so for sure, and in those that may mean a moment."""
    strong, weak = list[Phrase](), list[Phrase]()
    for match in _ends().finditer(text):
        said = next(found for name, found in match.groupdict().items() if found and name not in ("strong", "weak"))
        if match["weak"] and said.startswith(("a ", "an ")):
            continue  # `finished a course` is not about the one that is known
        if begins_aside(said):
            continue  # `is dumped every hour`
        target = weak if match["weak"] and not _FOR_GOOD.search(text) else strong
        target += phrases_of(said)[:1]
        if (home := _HOME_OF.search(said)) is not None and (owner := stem(home["owner"].rstrip("'"))):
            target.append(Phrase(owner))
    for fetched in _FETCHED.finditer(text):
        # What was fetched is no longer where it was; other things are.
        thing, *_ = [*phrases_of(fetched["thing"]), Phrase("")]
        weak += [replace(of, modifiers=of.modifiers | {thing.head}) for of in phrases_of(fetched["place"])[:1]]
    for part in _PARTS.split(text):
        # What two others ended is between them: `Beth and Tom broke up`.
        ended = _SUBJECT_ENDED.match(part)
        if ended is not None and " and " not in ended["subject"] and not _has_object(part, ended):
            strong += _ended_subject(ended["subject"])
    return strong, weak


def _has_object(part: str, ended: re.Match[str]) -> bool:
    """Return whether a verb ends what follows it, and not its subject: `dropped Trello`, `left a bag`."""
    verb = ended[0].rpartition(" ")[2].lower()
    kind = _GIVEN if verb in ("left", "quit") else _OBJECT_FOLLOWS
    return kind.match(part, ended.end()) is not None and not _PASSIVE.search(ended[0])


def _ended_subject(subject: str) -> list[Phrase]:
    """Return what is over where a subject is: what somebody has, or a trip with where it goes."""
    _, topic = holder_of(subject)
    phrases = phrases_of(subject)
    if phrases and phrases[0].head in english_words("reserved"):
        return phrases
    return phrases[:1] if topic is None else [topic]
