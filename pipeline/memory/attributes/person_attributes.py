"""Attributes of people: residence, work, partners, contact details."""

import re
from collections.abc import Iterable
from dataclasses import replace

from pipeline.memory.attributes.attribute import NEGATION_PREFIX, Attribute
from pipeline.memory.attributes.attribute_patterns import (
    FREE,
    NAME,
    NAMED,
    NOW,
    PLACE,
    RELATIVE,
    WHO,
    AttributeBuilder,
    AttributePattern,
    attribute_pattern,
    build_attribute,
    ended_attributes,
    exact_attribute,
    single_attribute,
)
from pipeline.memory.attributes.value_normalization import normalize_phrase, parse_subject, parse_value
from pipeline.memory.languages.english import english_pattern, english_words

_HIRED = rf"(?:{english_pattern('begins_of_employment')})"
_TRADE = rf"(?:an?|the) (?:[\w-]+ ){{0,3}}(?:{english_pattern('trades')})"
_ORDINAL = rf"(?P<v>{english_pattern('ordinals')})"
_WITH = rf"(?P<x>{NAME})"
_STATES = (
    ("single", rf"{WHO} is {NOW}single", "single"),
    ("dating", rf"{WHO} is {NOW}(?:in a relationship|dating)(?: with)?(?: {_WITH})?", "relationship dating"),
    ("engaged", rf"{WHO} (?:is|got|has got|became) {NOW}engaged(?: to {_WITH})?", "engaged"),
    ("married", rf"{WHO} (?:is|got|has been|was) {NOW}married(?: to {_WITH})?", "married"),
    ("married", rf"{WHO} (?:has )?married {_WITH}", "married"),
    ("single", rf"{WHO} and {_WITH} (?:have )?(?:broke|broken|split) up", "broke broken split"),
    ("single", rf"{_WITH} and (?P<s>User) (?:have )?(?:broke|broken|split) up", "broke broken split"),
)


def _partnership(state: str) -> AttributeBuilder:
    def build(match: re.Match[str]) -> Iterable[Attribute | None]:
        attribute = build_attribute(match, "partnership", state)
        if attribute is None:
            return
        partner = match.groupdict().get("x")
        yield (
            replace(attribute, detail=f"{normalize_phrase(partner)} {attribute.detail}".strip())
            if partner
            else attribute
        )
        if partner and state == "single" and (gone := parse_value(partner)):
            yield replace(
                attribute, name="partner", value=f"{NEGATION_PREFIX}{gone}", replaced_value=gone, is_single_valued=False
            )
        if partner and state == "married":
            yield replace(
                attribute, name="spouse", value=normalize_phrase(partner), value_kind="name", is_single_valued=True
            )

    return build


def _moved(match: re.Match[str]) -> Iterable[Attribute | None]:
    attribute = build_attribute(match, "residence", match["v"], value_kind="name")
    yield (
        replace(attribute, is_explicit_change=True, detail=f"moved {attribute.detail}".strip()) if attribute else None
    )


def _employer(match: re.Match[str]) -> Iterable[Attribute | None]:
    """Return where somebody works, by its name or as `a small startup`."""
    yield build_attribute(match, "employer", match["v"] or match["place"])


def _purpose(match: re.Match[str]) -> str | None:
    purpose = parse_value(match["x"])
    return None if purpose is None else f"uses for {purpose}"


def _between(match: re.Match[str]) -> Iterable[Attribute | None]:
    first, second, subject = parse_value(match["v"]), parse_value(match["x"]), parse_subject(match["s"])
    if first and second and subject:
        yield Attribute(subject, "prefers of " + " and ".join(sorted((first, second))), first)


_PAIRS = [set(pair.split("/")) for pair in english_words("pairs_of_values")]


def _of_a_pair(match: re.Match[str]) -> Iterable[Attribute | None]:
    """Distinguish the values of a pair: preferring dark mode is not preferring light mode."""
    first = match["v"].casefold()
    if any(first in pair for pair in _PAIRS):
        attribute = build_attribute(match, f"prefers {normalize_phrase(match['x'])}", match["v"])
        yield attribute


PATTERNS: tuple[AttributePattern, ...] = (
    attribute_pattern(
        rf"{WHO} (?:{NOW}lives|is {NOW}(?:all )?(?:living|based|settled)|{NOW}resides|"
        rf"is {NOW}(?:in|at) (?:an?|the|their) (?:[\w-]+ )?(?:flat|apartment|house|studio|WG|"
        rf"flatshare|dorm|bungalow)) in {PLACE}",
        single_attribute("residence"),
        "lives living based resides settled flat apartment house studio wg flatshare dorm bungalow",
    ),
    attribute_pattern(rf"{WHO}'s home is {NOW}in {PLACE}", single_attribute("residence"), "home"),
    attribute_pattern(
        rf"{WHO} (?:has )?{NOW}(?:moved|relocated) (?:(?:away )?from (?P<o>[A-Z][\w ,.'-]+?) )?to {PLACE}",
        _moved,
        "moved relocated",
    ),
    attribute_pattern(
        rf"{WHO} (?:no longer lives|doesn't live|does not live|is no longer (?:living|based)) in "
        r"(?P<n>[A-Z][\w ,.'-]+?)",
        ended_attributes("residence"),
        "lives live living based",
    ),
    attribute_pattern(
        rf"{WHO} (?:{NOW}works|is {NOW}working|is {NOW}employed|{NOW}{_HIRED}|is {NOW}{_TRADE}) (?:at|for|by) "
        rf"(?:{NAMED}|(?:an?|the) (?P<place>[a-z][\w -]+))",
        _employer,
        "works working employed started got found hired took at",
    ),
    attribute_pattern(
        rf"{WHO} (?!.* (?:at \d|early\b|late\b))(?:has )?{NOW}"
        r"(?:(?:left|quit)(?: (?:the|their|his|her) job at)?|resigned from|"
        rf"was (?:fired|laid off) (?:from|by)) (?P<n>[A-Z][\w .&'-]+?)",
        ended_attributes("employer"),
        "left quit resigned fired laid",
    ),
    attribute_pattern(
        rf"{WHO} {NOW}works as (?:an? |the )?{FREE}", single_attribute("job", value_kind="phrase"), "works"
    ),
    attribute_pattern(
        rf"{WHO} (?:was|has been|got) {NOW}(?:promoted to|made|appointed) (?:an? |the )?{FREE}",
        single_attribute("job", value_kind="phrase", is_change=True),
        "promoted made appointed",
    ),
    attribute_pattern(
        rf"{WHO} (?:is {NOW}an?|(?:was|has been|got) {NOW}promoted to(?: an?)?) (?P<v>{english_pattern('ranks')}) "
        r"(?P<x>[\w -]+?)",
        exact_attribute("rank of {x}"),  # junior and senior are other ranks of one job
        "is promoted",
    ),
    attribute_pattern(
        rf"{WHO} (?:{NOW}works|is {NOW}(?:working|on)|(?:has )?{NOW}(?:switched|moved|changed) to) (?:the )?"
        r"(?P<v>night|day|earl|late|evening)(?:(?:y|ies|s)? shifts?|s|ies)",
        single_attribute("shift"),
        "works working is switched moved changed",
    ),
    attribute_pattern(
        rf"{WHO} {NOW}reports to {NAMED}(?: now)?", single_attribute("boss"), "reports", allow_circumstances=False
    ),
    attribute_pattern(
        rf"{WHO} is {NOW}in (?:the |their |his |her )?{_ORDINAL} (?P<a>grade|semester|year|trimester|form)",
        exact_attribute("in {a}"),
        "is",
    ),
    attribute_pattern(rf"{WHO} is {NOW}(?P<v>\d{{1,3}})(?: years old| years of age)?", exact_attribute("age"), "is"),
    attribute_pattern(
        rf"(?P<s>{NAME}(?:{RELATIVE})?) is {NOW}(?:called|named) {NAMED}",
        single_attribute("name", is_single_valued=False),
        "called named",
    ),
    attribute_pattern(
        rf"{WHO} (?:was born|has (?:a |the |their )?birthday) on (?P<v>[\w .]+?)",
        single_attribute("birthday", value_kind="time"),
        "born birthday",
    ),
    attribute_pattern(
        rf"{WHO} {NOW}(?:uses|prefers) {NAMED} for (?P<x>[\w -]{{2,40}}?)", single_attribute(_purpose), "uses prefers"
    ),
    attribute_pattern(
        rf"{WHO} {NOW}prefers (?P<v>[\w -]{{2,30}}?) (?:to|over|rather than) (?P<x>[\w -]{{2,30}}?)",
        _between,
        "prefers",
    ),
    attribute_pattern(rf"{WHO} {NOW}prefers (?P<v>[a-z]+) (?P<x>[a-z]+)", _of_a_pair, "prefers"),
    attribute_pattern(
        rf"{WHO} (?:is {NOW}on|{NOW}has|(?:has )?{NOW}(?:upgraded|downgraded|switched|moved) to) the "
        r"(?P<v>[\w-]+) plan",
        single_attribute("plan", value_kind="phrase"),
        "plan",
    ),
    *(attribute_pattern(pattern, _partnership(state), hints) for state, pattern, hints in _STATES),
)
