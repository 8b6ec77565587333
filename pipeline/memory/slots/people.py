"""Slots of people: where they live, what they do, with whom they are, how they are reached."""

import re
from collections.abc import Iterable
from dataclasses import replace

from pipeline.memory.slots.grammar import (
    FREE,
    NAME,
    NAMED,
    NOW,
    PLACE,
    WHO,
    Build,
    Form,
    ended,
    filled,
    form,
    valued,
)
from pipeline.memory.slots.slot import NOT, Slot
from pipeline.memory.slots.values import as_subject, as_value, plain

_HIRED = (
    r"(?:started (?:working|a (?:new )?job)|(?:got|found) (?:an? |the )?(?:new )?job|got hired|was hired|"
    r"took a job)"
)
_NO_LONGER = r"(?:no longer|doesn't|does not|isn't|is not|is no longer)"
_RANK = (
    r"(?:junior|senior|lead|principal|staff|chief|head|assistant|associate|deputy|trainee|vice|full-time|"
    r"part-time|freelance)"
)
_ORDINAL = (
    r"(?P<v>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|final|last|"
    r"\d{1,2}(?:st|nd|rd|th)?)"
)
_WITH = rf"(?P<x>{NAME})"
_STATES = (
    ("single", rf"{WHO} is {NOW}single", "single"),
    ("dating", rf"{WHO} is {NOW}(?:in a relationship|dating)(?: with)?(?: {_WITH})?", "relationship dating"),
    ("dating", rf"{WHO} (?:has )?(?:started|began) (?:dating|seeing) {_WITH}", "started began"),
    ("engaged", rf"{WHO} (?:is|got|has got|became) {NOW}engaged(?: to {_WITH})?", "engaged"),
    ("married", rf"{WHO} (?:is|got|has been|was) {NOW}married(?: to {_WITH})?", "married"),
    ("married", rf"{WHO} (?:has )?married {_WITH}", "married"),
    ("divorced", rf"{WHO} (?:is|got) {NOW}divorced(?: from {_WITH})?", "divorced"),
    ("divorced", rf"{WHO} (?:has )?divorced {_WITH}", "divorced"),
    ("divorced", rf"{WHO} and {_WITH} (?:got|are|have) divorced", "divorced"),
    ("separated", rf"{WHO} (?:is|and {_WITH} are|has) {NOW}separated", "separated"),
    ("widowed", rf"{WHO} is {NOW}(?:widowed|a widow|a widower)", "widowed widow widower"),
    ("single", rf"{WHO} and {_WITH} (?:have )?(?:broke|broken|split) up", "broke broken split"),
    ("single", rf"{WHO} (?:has )?(?:broke|broken|split) up with {_WITH}", "broke broken split"),
)


def _partnership(state: str) -> Build:
    def build(match: re.Match[str]) -> Iterable[Slot | None]:
        slot = filled(match, "partnership", state)
        if slot is None:
            return
        who = match.groupdict().get("x")
        yield replace(slot, detail=f"{plain(who)} {slot.detail}".strip()) if who else slot
        if who and state == "single" and (gone := as_value(who)):
            yield replace(slot, attribute="partner", value=f"{NOT}{gone}", replaces=gone, single=False)
        if who and state == "married":
            yield replace(slot, attribute="spouse", value=plain(who), kind="name", single=True)

    return build


def _rank(match: re.Match[str]) -> Iterable[Slot | None]:
    """Junior and senior: one of the two, among those who do the same."""
    yield filled(match, f"rank of {plain(match['x'])}", match["v"])


def _moved(match: re.Match[str]) -> Iterable[Slot | None]:
    slot = filled(match, "residence", match["v"], kind="name")
    yield replace(slot, marked=True, detail=f"moved {slot.detail}".strip()) if slot else None


def _ordinal(match: re.Match[str]) -> Iterable[Slot | None]:
    yield filled(match, f"in {match['a'].lower()}", match["v"])


def _purpose(match: re.Match[str]) -> str | None:
    purpose = as_value(match["x"])
    return None if purpose is None else f"uses for {purpose}"


def _between(match: re.Match[str]) -> Iterable[Slot | None]:
    first, second, subject = as_value(match["v"]), as_value(match["x"]), as_subject(match["s"])
    if first and second and subject:
        yield Slot(subject, "prefers of " + " and ".join(sorted((first, second))), first)


_PAIRS = (
    {"dark", "light"},
    {"window", "aisle"},
    {"morning", "evening"},
    {"red", "white"},
    {"early", "late"},
    {"hot", "cold"},
    {"indoor", "outdoor"},
    {"paper", "digital"},
    {"vertical", "horizontal"},
    {"tabs", "spaces"},
)


def _of_a_pair(match: re.Match[str]) -> Iterable[Slot | None]:
    """Dark and light mode: preferring one is not preferring the other."""
    first = match["v"].casefold()
    if any(first in pair for pair in _PAIRS):
        slot = filled(match, f"prefers {plain(match['x'])}", match["v"])
        yield slot


def _age(match: re.Match[str]) -> Iterable[Slot | None]:
    yield filled(match, "age", match["v"])


FORMS: tuple[Form, ...] = (
    form(
        rf"{WHO} (?:{NOW}lives|is {NOW}living|is {NOW}based|{NOW}resides) in {PLACE}",
        valued("residence"),
        "lives living based resides",
    ),
    form(rf"{WHO}'s home is {NOW}in {PLACE}", valued("residence"), "home"),
    form(
        rf"{WHO} (?:has )?{NOW}(?:moved|relocated) (?:(?:away )?from (?P<o>[A-Z][\w ,.'-]+?) )?to {PLACE}",
        _moved,
        "moved relocated",
    ),
    form(
        rf"{WHO} (?:no longer lives|doesn't live|does not live|is no longer (?:living|based)) in "
        r"(?P<n>[A-Z][\w ,.'-]+?)",
        ended("residence"),
        "lives live living based",
    ),
    form(
        rf"{WHO} (?:{NOW}works|is {NOW}working|is {NOW}employed|{NOW}{_HIRED}) (?:at|for|by) {NAMED}",
        valued("employer"),
        "works working employed started got found hired took",
    ),
    form(
        rf"{WHO} {_NO_LONGER} (?:works?|working|employed) (?:at|for|by) (?P<n>[A-Z][\w ,.&'-]+?)",
        ended("employer"),
        "works work working employed",
    ),
    form(
        rf"{WHO} (?:has )?{NOW}(?:(?:left|quit)(?: (?:the|their|his|her) job at)?|resigned from|"
        rf"was (?:fired|laid off) (?:from|by)) (?P<n>[A-Z][\w .&'-]+?)",
        ended("employer"),
        "left quit resigned fired laid",
    ),
    form(rf"{WHO} {NOW}works as (?:an? |the )?{FREE}", valued("job", kind="phrase"), "works"),
    form(
        rf"{WHO} (?:was|has been|got) {NOW}(?:promoted to|made|appointed) (?:an? |the )?{FREE}",
        valued("job", kind="phrase", changes=True),
        "promoted made appointed",
    ),
    form(
        rf"{WHO} (?:is {NOW}an?|(?:was|has been|got) {NOW}promoted to(?: an?)?) (?P<v>{_RANK}) "
        r"(?P<x>[\w -]+?)",
        _rank,
        "is promoted",
    ),
    form(
        rf"{WHO} {NOW}reports to {NAMED}",
        valued("boss"),
        "reports",
    ),
    form(
        rf"{WHO} is {NOW}in (?:the |their |his |her )?{_ORDINAL} (?P<a>grade|semester|year|trimester|form)",
        _ordinal,
        "is",
    ),
    form(rf"{WHO} is {NOW}(?P<v>\d{{1,3}})(?: years old| years of age)?", _age, "is"),
    form(
        rf"(?P<s>{NAME}) is {NOW}(?:called|named) {NAMED}",
        valued("name", single=False),
        "called named",
    ),
    form(
        rf"{WHO} (?:was born|has (?:a |the |their )?birthday) on (?P<v>[\w .]+?)",
        valued("birthday", kind="time"),
        "born birthday",
    ),
    form(
        rf"{WHO} {NOW}(?:uses|prefers) {NAMED} for (?P<x>[\w -]{{2,40}}?)", valued(_purpose), "uses prefers"
    ),
    form(
        rf"{WHO} {NOW}prefers (?P<v>[\w -]{{2,30}}?) (?:to|over|rather than) (?P<x>[\w -]{{2,30}}?)",
        _between,
        "prefers",
    ),
    form(rf"{WHO} {NOW}prefers (?P<v>[a-z]+) (?P<x>[a-z]+)", _of_a_pair, "prefers"),
    form(
        rf"{WHO} {NOW}drives (?:an? |the )?{NAMED}",
        valued("drives", single=False),
        "drives",
    ),
    form(
        rf"{WHO} (?:is {NOW}on|{NOW}has|(?:has )?{NOW}(?:upgraded|downgraded|switched|moved) to) the "
        r"(?P<v>[\w-]+) plan",
        valued("plan", kind="phrase"),
        "plan",
    ),
    *(form(pattern, _partnership(state), hints) for state, pattern, hints in _STATES),
)
