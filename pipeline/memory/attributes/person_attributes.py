"""Attributes of people: residence, work, age, birthday."""

import re
from collections.abc import Iterable

from pipeline.memory.attributes.attribute import Attribute
from pipeline.memory.attributes.attribute_patterns import (
    FREE,
    NAMED,
    NOW,
    PLACE,
    WHO,
    AttributePattern,
    attribute_pattern,
    build_attribute,
    single_attribute,
)
from pipeline.memory.languages.english import english_pattern

_HIRED = rf"(?:{english_pattern('begins_of_employment')})"
_TRADE = rf"(?:an?|the) (?:[\w-]+ ){{0,3}}(?:{english_pattern('trades')})"


def _employer(match: re.Match[str]) -> Iterable[Attribute | None]:
    """Return where somebody works, by its name or as `a small startup`."""
    yield build_attribute(match, "employer", match["v"] or match["place"])


PATTERNS: tuple[AttributePattern, ...] = (
    attribute_pattern(
        rf"{WHO} (?:{NOW}lives|is {NOW}(?:all )?(?:living|based|settled)|{NOW}resides|"
        rf"is {NOW}(?:in|at) (?:an?|the|their) (?:[\w-]+ )?(?:flat|apartment|house|studio|WG|"
        rf"flatshare|dorm|bungalow)) in {PLACE}",
        single_attribute("residence"),
        "lives living based resides settled flat apartment house studio wg flatshare dorm bungalow",
    ),
    attribute_pattern(
        rf"{WHO} (?:has )?{NOW}(?:moved|relocated) (?:(?:away )?from [A-Z][\w ,.'-]+? )?to {PLACE}",
        single_attribute("residence", is_change=True),
        "moved relocated",
    ),
    attribute_pattern(
        rf"{WHO} (?:{NOW}works|is {NOW}working|is {NOW}employed|{NOW}{_HIRED}|is {NOW}{_TRADE}) (?:at|for|by) "
        rf"(?:{NAMED}|(?:an?|the) (?P<place>[a-z][\w -]+))",
        _employer,
        "works working employed started got found hired took at",
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
        rf"{WHO} is {NOW}(?P<v>\d{{1,3}})(?: years old| years of age)?",
        single_attribute("age", value_kind="exact"),
        "is",
    ),
    attribute_pattern(
        rf"{WHO} (?:was born|has (?:a |the |their )?birthday) on (?P<v>[\w .]+?)",
        single_attribute("birthday", value_kind="time"),
        "born birthday",
    ),
)
