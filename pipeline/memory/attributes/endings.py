"""Objects of present states, their endings, and plans with what fulfils them: `takes metformin`, `came off it`."""

import re
from collections.abc import Iterable, Iterator

from pipeline.memory.attributes.attribute import NEGATION_PREFIX, Attribute
from pipeline.memory.attributes.attribute_patterns import FREE, NAME, NOW, WHO, AttributePattern, attribute_pattern
from pipeline.memory.attributes.value_normalization import normalize_phrase, parse_subject, parse_value
from pipeline.text.english_verbs import word_set

STATE = "involves"
"""Attribute of every present state; its values are what the state is about."""
PLAN = "plans"
_USING = "uses|plays|takes|studies|learns|teaches|reads|wears|drives|rides|runs|attends|does|rents|practises|practices"
_GERUNDS = (
    "using|playing|taking|studying|learning|teaching|reading|writing|wearing|driving|riding|running|attending|doing|"
    "renting|building|practising|practicing|watching|dating|seeing|going to|training for|preparing for|working on"
)
_STATES = rf"(?:{_USING}|has|has got|owns|goes to|is {NOW}(?:{_GERUNDS}|on|in|at|with|engaged to|married to))"
_OVER = (
    rf"(?:has |have )?{NOW}(?:(?:quit|stopped|gave up|given up)(?: (?:{_GERUNDS}))?|ditched|finished|completed|"
    r"handed in|submitted|cancelled|canceled|sold|got rid of|gave away|got over|came off|dropped out of|resigned from|"
    r"broke up with|split up with|called off)|"
    rf"is {NOW}(?:done with|over|off|out of|back from|home from|no longer (?:{_GERUNDS}|on|in|with|engaged to))|"
    rf"no longer (?:{_USING}|goes to)|"
    r"used to (?:use|play|take|study|learn|teach|read|wear|drive|ride|run|attend|do|have|own|go to|date)"
)
_GROUPS = (
    r"(?:[\w-]+ )?(?:job|company|band|orchestra|choir|team|club|group|church|school|board|council|party|gym|"
    r"association|firm|course|class|committee|force|army|league|[A-Z]\w+)"
)
_WISHES = (
    r"(?:wants|would like|'d like|plans|hopes|is (?:now |still )?(?:planning|going|hoping|trying|looking|about)) to "
    r"(?:get|buy|adopt|find|book|visit|join|have|take|rent|see)"
)
_SEEKS = (
    r"is (?:now |still )?(?:applying (?:to|for)|looking for|searching for|saving (?:up )?for|waiting for|hoping for)"
)
_FULFILLED = (
    rf"(?:has |have )?{NOW}(?:got(?: into| accepted (?:to|at|by))?|bought|adopted|found|booked|visited|joined|rented|"
    r"received|signed for|was accepted (?:to|at|by))"
)
_PARTS = re.compile(r" (?:in|at|with|on|for|from|to|near|of|as|called|named|every|each|since|until|during|after|by) ")
_DETAIL = re.compile(
    r" (?:in|at|on|for) (?!(?:the (?:end|weekend|morning|evening|afternoon)|last|next|this|good|now|once|\d|\w+day|"
    r"spring|summer|autumn|fall|winter|January|February|March|April|May|June|July|August|September|October|November|December)\b).*"
)
"""A circumstance that tells which thing has ended rather than when: `a course on pottery`."""
_WITHOUT_DETAILS = "without details"
"""Mark of what a state names by its bare head: an ending with details ends it, and no state with other details."""


_COMMON = word_set("is are was has have to in on at of for with from by up the or no") | word_set(
    "now currently actually officially just recently finally still already sadly"
)


def _phrases(text: str) -> Iterator[str]:
    """Yield the values that an object names: itself, its head without details, and what the details name."""
    parts = _PARTS.split(text)
    for phrase in dict.fromkeys((text, " ".join(parts), *parts)):
        value = parse_value(phrase)
        if value is not None:
            yield value
    if len(parts) == 1 and (value := parse_value(text)) is not None:
        yield f"{value} {_WITHOUT_DETAILS}"


def _ended(match: re.Match[str]) -> Iterator[str]:
    """Yield the values that an ending ends: its whole phrase if it has details, and what is named without any."""
    tail = match.groupdict().get("tail") or ""
    whole = match["v"] + (tail if _DETAIL.match(tail) else "")
    head, *details = _PARTS.split(whole)
    if details and (value := parse_value(" ".join((head, *details)))) is not None:
        yield value
    if (value := parse_value(head)) is not None:
        yield f"{value} {_WITHOUT_DETAILS}" if details else value


def _stated(name: str, match: re.Match[str]) -> Iterable[Attribute | None]:
    subject = parse_subject(match["s"])
    detail = normalize_phrase(match.string)
    for value in _phrases(match["v"]) if subject is not None else ():
        # With all its words as a detail: what two states are about may be the same, and they are two.
        yield Attribute(subject or "", name, value, is_single_valued=False, detail=detail)


def _state(match: re.Match[str]) -> Iterable[Attribute | None]:
    yield from _stated(STATE, match)


def _plan(match: re.Match[str]) -> Iterable[Attribute | None]:
    yield from _stated(PLAN, match)


def _ending(name: str, match: re.Match[str]) -> Iterable[Attribute | None]:
    subject, detail = parse_subject(match["s"]), normalize_phrase(match.string)
    for value in _ended(match) if subject is not None else ():
        if value != subject:
            negation = f"{NEGATION_PREFIX}{value}"
            yield Attribute(subject or "", name, negation, replaced_value=value, is_single_valued=False, detail=detail)


def _over(match: re.Match[str]) -> Iterable[Attribute | None]:
    yield from _ending(STATE, match)


def _fulfilled(match: re.Match[str]) -> Iterable[Attribute | None]:
    yield from _ending(PLAN, match)


def _words(pattern: str) -> str:
    """Return the words of a pattern, of which a text must contain one; those that most texts have don't select."""
    return " ".join(word for word in re.findall(r"[a-z]{2,}", pattern) if word not in _COMMON)


PATTERNS: tuple[AttributePattern, ...] = (
    attribute_pattern(
        rf"{WHO} {NOW}(?:{_STATES}) {FREE}",
        _state,
        f"is has {_words(_STATES)}",
        allow_circumstances=False,
        is_multiple=True,
    ),
    attribute_pattern(rf"{WHO} (?:{_OVER}) {FREE}", _over, _words(_OVER)),
    # `dropped Ana at school` ends nothing.
    attribute_pattern(
        rf"{WHO} (?:has |have )?{NOW}dropped (?!.* (?:at|off|to|from|in|by|on)\b){FREE}",
        _over,
        "dropped",
        allow_circumstances=False,
    ),
    attribute_pattern(rf"{WHO} (?:has )?{NOW}(?:left|lost) (?:the|their|her|his) (?P<v>{_GROUPS})", _over, "left lost"),
    attribute_pattern(rf"{NAME}(?:'s [\w -]+?)? took (?P<s>{NAME}) off {FREE}", _over, "took"),
    attribute_pattern(
        rf"{WHO} (?:{_WISHES}|{_SEEKS}) {FREE}",
        _plan,
        _words(_WISHES + _SEEKS),
        allow_circumstances=False,
        is_multiple=True,
    ),
    attribute_pattern(rf"{WHO} {_FULFILLED} {FREE}", _fulfilled, _words(_FULFILLED)),
)
