"""Attributes of named things: `the price of the plan`, `Ann's phone`; and when things are."""

import re
from collections.abc import Iterable

from pipeline.memory.attributes.attribute import Attribute, ValueKind
from pipeline.memory.attributes.attribute_patterns import (
    FREE,
    NAME,
    NOW,
    THING,
    AttributePattern,
    as_changed,
    attribute_pattern,
    build_attribute,
    single_attribute,
)
from pipeline.memory.attributes.time_values import time_components
from pipeline.memory.attributes.value_normalization import normalize_phrase, parse_value
from pipeline.memory.languages.english import english_groups, english_pattern, english_words
from pipeline.text.english_verbs import word_set

_OPEN = english_words("single_valued_attributes")
_NAMED_ONLY = english_words("attributes_with_names")
_DEVICES = english_words("attributes_with_products")
_SINGLE = _OPEN | _NAMED_ONLY | _DEVICES
_OF_THINGS = english_pattern("attributes_of_things")
_WORDED = word_set("job color diet role status state goal target schedule shift level")
_SKIPPED = re.compile(r"^(?:new|current|latest|own|old|all-time|present) ")
_PLACED = re.compile(r" (?:on|in|at|with) ")
_DIGITS = re.compile(r"\d{3}")

_ATTRIBUTE = r"(?P<a>[A-Za-z][\w-]*(?: [A-Za-z][\w-]*){0,3}?(?: (?:on|in|at|with) [\w ]{2,20}?)?)"
_HEAD = rf"(?P<a>{_OF_THINGS})"
_SET = "(?:set to|set at|raised to|reduced to|cut to)"
_IS = rf"(?:(?:is|are) {NOW}(?:{_SET} |at |called |named )?|(?:was|has been) {NOW}{_SET} )"
_CHANGED = (
    rf"(?:has |have )?{NOW}(?:(?:been |was |is |were )?(?:{english_pattern('changes_of_values')}|brought forward))"
    r"(?: (?:up|down|back|forward))?(?: from .+?)? to "
)
_ON = r"(?:(?:(?:planned|scheduled|set|due|booked) )?(?:for|on|in|at) |(?:scheduled|planned|set|due) )"


def _head(attribute: str) -> str:
    """Return the head noun of a phrase like `username on github`."""
    return _PLACED.split(attribute, maxsplit=1)[0].split()[-1]


def _attribute(name: str) -> str | None:
    """Return the attribute that a phrase names, if it is single-valued."""
    folded = normalize_phrase(_SKIPPED.sub("", name.casefold()))
    head = _head(folded) if folded else ""
    if folded == "favorite" or (head not in _SINGLE and not folded.startswith("favorite ")):
        return None
    if folded == "best friend" or folded.startswith("favorite "):
        return folded
    return english_groups("synonyms").get(folded, folded)


def _kind(attribute: str, value: str) -> ValueKind:
    if attribute == "birthday" or attribute.endswith(("date", "deadline", "eta", "bedtime")):
        return "time" if time_components(value) else "phrase"
    head = attribute.rsplit(maxsplit=1)[-1]
    if attribute.startswith("favorite ") or head in _WORDED | _NAMED_ONLY | _DEVICES:
        return "phrase"
    return "name" if attribute in ("name", "spouse", "partner", "boss", "best friend", "owner") else "exact"


def _is_such(attribute: str, raw: str) -> bool:
    """Return whether a value suits the attribute: `broken` is no phone, `tired` or `40 years old` no boss."""
    head = _head(attribute)
    named = raw[:1].isupper() or (raw[:1].isdigit() and (head in _DEVICES or _DIGITS.search(raw) is not None))
    if attribute == "phone number":
        return _DIGITS.search(raw) is not None
    if head in _NAMED_ONLY | {"spouse", "boss", "friend"} and not attribute.startswith("favorite "):
        return named
    if head in _DEVICES:
        return named or raw.lower().startswith(("a ", "an ", "the "))
    return True


def _possessed(match: re.Match[str]) -> Iterable[Attribute | None]:
    attribute = _attribute(match["a"])
    raw = match["v"].strip()
    if attribute == "phone" and _DIGITS.search(raw):
        attribute = "phone number"
    if attribute is None or not _is_such(attribute, raw):
        return
    yield _said_to_change(
        match, build_attribute(match, attribute, raw, value_kind=_kind(attribute, normalize_phrase(raw)))
    )


def _said_to_change(match: re.Match[str], attribute: Attribute | None) -> Attribute | None:
    """Return the attribute, marked as changed if the words say so (group `c`)."""
    return attribute if match.groupdict().get("c") is None else as_changed(attribute)


def _when(match: re.Match[str]) -> Iterable[Attribute | None]:
    value = parse_value(match["v"])
    if value is None or not time_components(value):
        return
    yield _said_to_change(match, build_attribute(match, "when", match["v"], value_kind="time"))


_TIME = r"(?P<v>[\w :.,']+?)"
_IS_HINTS = "is are was has been"
_CHANGED_HINTS = " ".join((*english_words("changes_of_values"), "brought"))
PATTERNS: tuple[AttributePattern, ...] = (
    attribute_pattern(
        rf"(?:The |Our )?{_ATTRIBUTE} (?:of|for) {THING} (?P<c>{_CHANGED}){FREE}", _possessed, _CHANGED_HINTS
    ),
    attribute_pattern(
        rf"(?P<s>{NAME}) (?:has )?{NOW}(?P<c>upped|raised|lowered|cut|changed) (?:the|their) {_ATTRIBUTE} to {FREE}",
        _possessed,
        "upped raised lowered cut changed",
    ),
    attribute_pattern(rf"(?:The |Our )?{_ATTRIBUTE} (?:of|for) {THING} {_IS}{FREE}", _possessed, _IS_HINTS),
    attribute_pattern(rf"{THING}'s? {_ATTRIBUTE} {_IS}{FREE}", _possessed, _IS_HINTS),
    attribute_pattern(rf"(?:The |Our )?{THING} {_HEAD} {_IS}{FREE}", _possessed, _IS_HINTS),
    attribute_pattern(rf"(?:The |Our )?{THING} (?P<c>{_CHANGED})(?:on |for |at )?{FREE}", _when, _CHANGED_HINTS),
    attribute_pattern(
        rf"{THING} (?:is {NOW}{_ON}|(?:takes|will take) place (?:on|in|at) |happens (?:on|in|at) ){_TIME}",
        _when,
        "is takes take happens",
    ),
    attribute_pattern(
        rf"(?:The )?{THING} {NOW}costs {NOW}(?P<v>[$€£]?\d[\w .,$€£/]*)",
        single_attribute("price", value_kind="exact"),
        "costs",
    ),
)
