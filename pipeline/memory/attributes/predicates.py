"""Predicates: activities, likes, possessions and states of somebody, affirmed or denied."""

import re
from collections.abc import Iterable
from dataclasses import replace

from pipeline.memory.attributes.attribute import NEGATION_PREFIX, Attribute
from pipeline.memory.attributes.attribute_patterns import (
    CALLED,
    INSTEAD,
    NOW,
    WHO,
    AttributeBuilder,
    AttributePattern,
    attribute_pattern,
)
from pipeline.memory.attributes.hypernyms import is_bare_hypernym
from pipeline.memory.attributes.value_normalization import parse_predicate_object, parse_subject
from pipeline.memory.languages.english import english_groups, english_words
from pipeline.text.english_verbs import third_person

_VERBS = english_words("predicate_verbs")
_LIKING = english_groups("liking")


def _gerund(verb: str) -> str:
    if verb.endswith("e") and not verb.endswith("ee"):
        return f"{verb[:-1]}ing"
    return f"{verb}{verb[-1]}ing" if verb in {"run", "swim", "plan"} else f"{verb}ing"


_BASE = {verb: verb for verb in _VERBS} | {"own": "have"}
_THIRD = {third_person(verb): base for verb, base in _BASE.items()}
_GERUND = {_gerund(verb): base for verb, base in _BASE.items()}
_VERB_OF = _BASE | _THIRD | _GERUND
"""Verbs of predicates by their forms."""


def _any(of: Iterable[str]) -> str:
    """Return a pattern of any of these words, the longest first."""
    return "|".join(sorted(of, key=len, reverse=True))


_OBJECT = r"(?P<v>[^,;:()]+?)"
_NOTHING = "at all"
_NO = re.compile(r"no (?:longer |more )?(?:any )?(?=\S)")
_ANY = re.compile(r"^any (?:more )?(?=\S)")
_THAT = re.compile(r"(?:the|my|their|our|his|her|its|this|that|these|those) ")
_MEATLESS = ("vegetarian", "vegan")
_IS_A = r"(?:an? |the )"
_ADJECTIVES = "allergic|vegetarian|vegan|lactose|gluten|diabetic|pescatarian|colorblind|fluent|afraid|addicted"


def _assertion(match: re.Match[str], verb: str, value: str, *, is_denied: bool) -> Attribute | None:
    """Assert that somebody does something; the circumstances belong to the value."""
    subject = parse_subject(match["s"])
    value_phrase = parse_predicate_object(value) if value.strip() else _NOTHING
    if subject is None or value_phrase is None:
        return None
    if is_denied:
        return Attribute(
            subject, verb, f"{NEGATION_PREFIX}{value_phrase}", replaced_value=value_phrase, is_single_valued=False
        )
    return Attribute(subject, verb, value_phrase, is_single_valued=False)


def _denial(match: re.Match[str], verb: str, value: str) -> Attribute | None:
    """Deny an activity, and all of its kind unless the object is definite."""
    value = _ANY.sub("", value)
    attribute = _assertion(match, verb, value, is_denied=True)
    if attribute is None or attribute.replaced_value is None:
        return None
    return replace(
        attribute, denies_whole_kind=_THAT.match(value) is None and is_bare_hypernym(verb, attribute.replaced_value)
    )


_ONE_AT_A_TIME = frozenset({"study", "drive", "teach"})
"""Verbs of which `now` ends the former object."""


def _does(match: re.Match[str]) -> Iterable[Attribute | None]:
    verb = _THIRD[match["b"]]
    what = match["v"] or ""
    if (no := _NO.match(what)) is not None:
        yield _denial(match, verb, what[no.end() :])
        return
    stated = _assertion(match, verb, what, is_denied=False)
    is_change = verb in _ONE_AT_A_TIME and INSTEAD.search(what) is not None
    yield replace(stated, is_explicit_change=True) if stated is not None and is_change else stated
    if verb == "drive" and what.startswith(("a ", "an ")):
        yield _assertion(match, "have", what, is_denied=False)


def _says(verb: str = "") -> AttributeBuilder:
    """Return a builder of what somebody does or is by a verb; without one, by that of the pattern."""

    def build(match: re.Match[str]) -> Iterable[Attribute | None]:
        yield _assertion(match, verb or _VERB_OF[match["b"]], match["v"] or "", is_denied=False)

    return build


def _denies(match: re.Match[str]) -> Iterable[Attribute | None]:
    yield _denial(match, _VERB_OF.get(match["b"], "is"), match["v"] or "")


def _likes(match: re.Match[str]) -> Iterable[Attribute | None]:
    how = _LIKING[" ".join(match["b"].split())]
    is_denied = how.startswith(NEGATION_PREFIX)
    said = _denial(match, "like", match["v"]) if is_denied else _assertion(match, "like", match["v"], is_denied=False)
    yield None if said is None else replace(said, detail="love" if how.endswith("love") else "")


def _is(match: re.Match[str]) -> Iterable[Attribute | None]:
    yield (said := _assertion(match, "is", match["v"], is_denied=False))
    if said is not None and said.value in _MEATLESS:
        yield replace(said, name="eat", value=f"{NEGATION_PREFIX}meat", replaced_value="meat", detail="by diet")


def _predicate(pattern: str, build: AttributeBuilder, trigger_words: Iterable[str]) -> AttributePattern:
    return attribute_pattern(rf"{WHO} {pattern}", build, " ".join(trigger_words), allow_circumstances=False)


_NOT_ANY_MORE = r"(?:is no longer|isn't|is not|(?:has |have )?(?:stopped|quit|gave up|given up))"
_LEAVE = r"(?P<v>(?:[a-z]+ )?(?:vacation|holiday|leave|sabbatical|break)|a business trip|a trip)"
PATTERNS: tuple[AttributePattern, ...] = (
    _predicate(rf"{NOW}(?P<b>{_any(_LIKING)}) {_OBJECT}(?: a lot)?", _likes, {said.split()[-1] for said in _LIKING}),
    _predicate(rf"{NOW}(?P<b>{_any(_THIRD)})(?: {_OBJECT}{CALLED})?", _does, _THIRD),
    _predicate(rf"(?:can|is able to) (?P<b>speak|play|drive|swim) {_OBJECT}", _says(), ("can", "able")),
    _predicate(rf"(?:no longer|never) (?P<b>{_any(_THIRD)})(?: {_OBJECT})?", _denies, ("longer", "never")),
    _predicate(rf"(?:doesn't|does not) {NOW}(?P<b>{_any(_BASE)})(?: {_OBJECT})?", _denies, ("doesn't", "does")),
    _predicate(rf"is {NOW}(?P<b>{_any(_GERUND)})(?: {_OBJECT})?", _says(), _GERUND),
    _predicate(rf"{_NOT_ANY_MORE} (?P<b>{_any(_GERUND)})(?: {_OBJECT})?", _denies, _GERUND),
    _predicate(rf"is {NOW}{_IS_A}(?P<v>[a-z][\w -]+?)", _is, ("is",)),
    _predicate(rf"is {NOW}(?P<v>(?:{_ADJECTIVES})\b.*?)", _is, _ADJECTIVES.split("|")),
    _predicate(rf"(?P<b>is no longer|isn't|is not) {_IS_A}?(?P<v>[a-z][^,;:]*?)", _denies, ("is", "isn't")),
    _predicate(rf"{NOW}works as {_IS_A}(?P<v>[a-z][\w -]+?)", _is, ("works",)),
    attribute_pattern(rf"{WHO} is {NOW}on {_LEAVE}", _says("is on"), "vacation holiday leave sabbatical break trip"),
)
