"""Attributes of named things: `the price of the plan`, `Ann's phone`; and when, where and how things are."""

import re
from collections.abc import Iterable
from dataclasses import replace

from pipeline.memory.attributes.attribute import Attribute, ValueKind
from pipeline.memory.attributes.attribute_patterns import (
    FREE,
    NAME,
    NAMED,
    NOW,
    PLACE,
    THING,
    WHO,
    AttributePattern,
    attribute_pattern,
    build_attribute,
    exact_attribute,
)
from pipeline.memory.attributes.time_values import CANCELLED, time_components
from pipeline.memory.attributes.value_normalization import normalize_phrase, parse_subject, parse_value
from pipeline.memory.languages.english import english_forms, english_groups, english_pattern, english_words
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
    r"(?: (?:up|down|back|forward))?(?: from (?P<o>.+?))? to "
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


_FIGURE = re.compile(r"\d[\d.,:]*")


def _measured(match: re.Match[str]) -> Iterable[Attribute | None]:
    """Compare any other figure of somebody's with one of the same kind: `27:45`, `number 12`, `15,000 euros`."""
    value, name = normalize_phrase(match["v"]), normalize_phrase(_SKIPPED.sub("", match["a"].casefold()))
    if len(_FIGURE.findall(value)) == 1 and _attribute(match["a"]) is None and len(value.split()) < 4:
        shape = _FIGURE.sub(lambda figure: re.sub(r"\d+", "#", figure[0].replace(",", "")), value)
        yield _said_to_change(match, build_attribute(match, f"{name} in {shape}", value))


def _said_to_change(match: re.Match[str], attribute: Attribute | None) -> Attribute | None:
    """Return the attribute, marked as changed if the words say so (group `c`)."""
    if attribute is None or match.groupdict().get("c") is None:
        return attribute
    return replace(attribute, is_explicit_change=True, detail=f"changed {attribute.detail}".strip())


def _cancelled(match: re.Match[str]) -> Iterable[Attribute | None]:
    attribute = build_attribute(match, "when", CANCELLED, value_kind="time")
    yield replace(attribute, is_explicit_change=True) if attribute is not None else None


def _when(match: re.Match[str]) -> Iterable[Attribute | None]:
    value = parse_value(match["v"])
    if value is None or not time_components(value):
        return
    yield _said_to_change(match, build_attribute(match, _moment_of(match), match["v"], value_kind="time"))


_MOMENTS = english_forms("moments")


def _moment_of(match: re.Match[str]) -> str:
    return _MOMENTS.get(match.groupdict().get("b") or "", "when")


def _where(match: re.Match[str]) -> Iterable[Attribute | None]:
    value = parse_value(match["v"])
    if value is not None and not time_components(value):
        yield build_attribute(match, "where", match["v"], value_kind="name")


_STATE = english_groups("states_of_things")


_ENDS = word_set("resolved fixed merged dropped cancelled reopened")
"""Verbs after which an earlier state has ended."""


def _state(match: re.Match[str]) -> Iterable[Attribute | None]:
    state = normalize_phrase(match["v"])
    if state in (_ENDS if match["w"] == "was" else _STATE):
        yield build_attribute(match, f"is {_STATE[state]}", state)


def _inverse(match: re.Match[str]) -> Iterable[Attribute | None]:
    """Rewrite `Samir is Ann's best friend` as `Ann's best friend is Samir`."""
    attribute = _attribute(match["a"])
    if attribute is not None and _is_such(attribute, match["v"]):
        yield build_attribute(match, attribute, match["v"], value_kind=_kind(attribute, normalize_phrase(match["v"])))


def _kept_by(match: re.Match[str]) -> Iterable[Attribute | None]:
    role = {"maintained": "maintainer", "owned": "owner", "led": "lead", "managed": "boss", "assigned to": "assignee"}
    yield build_attribute(match, role[match["r"]], match["v"], value_kind="name")


def _keeps(match: re.Match[str]) -> Iterable[Attribute | None]:
    role = {"maintains": "maintainer", "leads": "lead"}[match["r"]]
    subject, value = parse_subject(match["t"]), parse_value(match["v"])
    if subject is not None and value is not None:
        yield Attribute(subject, role, value, value_kind="name")


_TIME = r"(?P<v>[\w :.,']+?)"
_IS_HINTS = "is are was has been"
_CHANGED_HINTS = " ".join((*english_words("changes_of_values"), "brought"))
PATTERNS: tuple[AttributePattern, ...] = (
    attribute_pattern(
        rf"{THING} (?:was|has been|is) {NOW}(?:cancelled|canceled|called off)", _cancelled, "cancelled canceled called"
    ),
    attribute_pattern(
        rf"(?:The |Our )?{_ATTRIBUTE} (?:of|for) {THING} (?P<c>{_CHANGED}){FREE}", _possessed, _CHANGED_HINTS
    ),
    attribute_pattern(rf"(?:The |Our )?{_ATTRIBUTE} (?:of|for) {THING} {_IS}{FREE}", _possessed, _IS_HINTS),
    attribute_pattern(rf"{THING}'s? {_ATTRIBUTE} {_IS}{FREE}", _possessed, _IS_HINTS),
    attribute_pattern(rf"(?P<s>{NAME})'s (?P<a>[\w -]{{2,40}}?) {_IS}(?P<v>[^;()]{{1,40}}?)", _measured, _IS_HINTS),
    attribute_pattern(rf"(?:The |Our )?{THING} {_HEAD} {_IS}{FREE}", _possessed, _IS_HINTS),
    attribute_pattern(rf"(?:The |Our )?{THING} (?P<c>{_CHANGED})(?:on |for |at )?{FREE}", _when, _CHANGED_HINTS),
    attribute_pattern(
        rf"{THING} (?:is {NOW}{_ON}|(?:takes|will take) place (?:on|in|at) |happens (?:on|in|at) ){_TIME}",
        _when,
        "is takes take happens",
    ),
    attribute_pattern(
        rf"{THING} {NOW}(?P<b>{'|'.join(_MOMENTS)}) {NOW}(?:on|at|in) {_TIME}", _when, " ".join(_MOMENTS)
    ),
    attribute_pattern(rf"(?P<s>(?:The |Our ).{{2,60}}?) (?:takes|will take) place in {PLACE}", _where, "takes take"),
    attribute_pattern(
        rf"(?P<s>(?:The |Our ).{{2,60}}?) (?:is|will be) {NOW}(?:held |located )?in {PLACE}", _where, "is be"
    ),
    attribute_pattern(rf"{THING} (?P<w>is|has been|was|got|became) {NOW}(?P<v>[a-z-]+)", _state, " ".join(_STATE)),
    attribute_pattern(rf"{WHO} (?:has )?(?:died|passed away)", exact_attribute("is alive", "dead"), "died passed"),
    attribute_pattern(
        rf"{WHO} {NOW}works (?P<v>part-time|full-time)", exact_attribute("is full-time"), "part-time full-time"
    ),
    attribute_pattern(
        rf"(?P<v>(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?{NAME}|[A-Z]\w+) is {NOW}{THING}'s (?:new )?{_ATTRIBUTE}", _inverse, "is"
    ),
    attribute_pattern(
        rf"{THING} is {NOW}(?P<r>maintained|owned|led|managed|assigned to)(?: by)? {NAMED}",
        _kept_by,
        "maintained owned led managed assigned",
    ),
    attribute_pattern(
        rf"(?P<v>{NAME}) {NOW}(?P<r>maintains|leads) (?P<t>[\w][\w .+/-]{{1,40}}?)", _keeps, "maintains leads"
    ),
    attribute_pattern(
        rf"(?:The )?{THING} {NOW}costs {NOW}(?P<v>[$€£]?\d[\w .,$€£/]*)",
        exact_attribute("price"),
        "costs",
    ),
)
