"""Inference rules: each takes two memories that share a name and states what follows from both.

The conclusion follows from the words of both; that the name means the same in both is assumed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from pipeline.memory.attributes.attribute_extraction import extract_attributes
from pipeline.memory.attributes.value_normalization import normalize_phrase
from pipeline.memory.grammar.speaker_context import DEFAULT_SPEAKER
from pipeline.memory.inference.premise_parser import ParsedPremise, parse_premise

CERTAIN, SINGLE_NAME_CERTAINTY = 1.0, 0.9  # a name of one word may be ambiguous
MAX_AGE_YEARS = 120
_PARENT = ("mother", "father")
_CHILD = ("son", "daughter")
_SIBLING = ("brother", "sister")
_SPOUSE = ("wife", "husband")
_KIN = {
    (relative, other): kin
    for relatives, others in (
        (_PARENT, {"mother": "grandmother", "father": "grandfather", "sister": "aunt", "brother": "uncle"}),
        (_CHILD, {"son": "grandson", "daughter": "granddaughter", "wife": "daughter-in-law", "husband": "son-in-law"}),
        (_SIBLING, {"son": "nephew", "daughter": "niece", "wife": "sister-in-law", "husband": "brother-in-law"}),
        (_SPOUSE, {other: f"{other}-in-law" for other in (*_PARENT, *_SIBLING)}),
    )
    for other, kin in others.items()
    for relative in relatives
}
"""Relative's relative. Ambiguous pairs are absent: a sister's mother may be somebody else's."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A statement that follows from two memories: the rule, its reason, and a confidence from 0 to 1."""

    text: str
    rule: str
    reason: str
    score: float


def premise_keys(text: str) -> tuple[str, ...]:
    """Return the keys of a memory as a premise, and one to find restatements if no attribute does."""
    return (*(f"derive {role} {name}" for role, name in _join_keys(parse_premise(text))), *_text_key(text))


def partner_keys(text: str) -> tuple[str, ...]:
    """Return keys that cover every memory able to form a conclusion with this one, and its own key."""
    return (
        *(f"derive {_PARTNER_ROLE[role]} {name}" for role, name in _join_keys(parse_premise(text))),
        *_text_key(text),
    )


_PARTNER_ROLE = {
    "role to": "said of", "said of": "role to", "kin to": "kin of", "kin of": "kin to", "home in": "place",
    "place": "home in", "born": "once", "once": "born",
}  # fmt: skip
"""Role of the partner that shares the name, for each role of a memory in a rule."""


def _text_key(text: str) -> tuple[str, ...]:
    premise = parse_premise(text)
    return (
        ()
        if premise == ParsedPremise(premise.text) or extract_attributes(text)
        else (f"derive says {premise.text.casefold()}",)
    )


def _join_keys(premise: ParsedPremise) -> Iterator[tuple[str, str]]:
    if premise.role is not None:
        yield "role to", normalize_phrase(premise.role.person)
        if premise.role.kinship is not None:
            yield "kin to", normalize_phrase(premise.role.person)
            yield "kin of", normalize_phrase(premise.role.whose)
    if premise.subject is not None:
        yield "said of", normalize_phrase(premise.subject)
    if premise.residence is not None:
        yield "home in", premise.residence.place
    if premise.location is not None:
        yield "place", normalize_phrase(premise.location[0])
    if premise.birth is not None:
        yield "born", normalize_phrase(premise.birth[0])
    if premise.dated_event is not None:
        yield "once", normalize_phrase(premise.dated_event[0])


def apply_rules(text: str, other_text: str) -> list[Conclusion]:
    """Return all conclusions from two memories, in either order.

    >>> [conclusion.text for conclusion in apply_rules("Clara lives in Rome", "User's sister is Clara")]
    ["User's sister Clara lives in Rome"]
    """
    premise, other_premise = parse_premise(text), parse_premise(other_text)
    return [
        conclusion
        for first, second in ((premise, other_premise), (other_premise, premise))
        for rule in (_role_rule, _kinship_rule, _containment_rule, _age_rule)
        if (conclusion := rule(first, second)) is not None
    ]


def _role_rule(first: ParsedPremise, second: ParsedPremise) -> Conclusion | None:
    """`User's sister is Clara`, `Clara lives in Rome`: User's sister does."""
    role, about = first.role, second.subject
    if role is None or about is None or about != role.person or role.person in (role.whose, DEFAULT_SPEAKER):
        return None
    if role.role == "employer" and not second.is_based:
        return None
    text = f"{role.whose}'s {role.role} {second.text}"
    return Conclusion(text, "role", f"{role.whose}'s {role.role} is {role.person}", _certainty(role.person))


def _kinship_rule(first: ParsedPremise, second: ParsedPremise) -> Conclusion | None:
    """`User's mother is Eva`, `Eva's mother is Rosa`: Rosa is User's grandmother."""
    near, far = first.role, second.role
    if near is None or far is None or near.person != far.whose or far.person == near.whose:
        return None
    kin = _KIN.get((near.kinship or "", far.kinship or ""))
    if kin is None:
        return None
    reason = f"{near.whose}'s {near.kinship} is {near.person}, whose {far.kinship} is {far.person}"
    return Conclusion(f"{near.whose}'s {kin} is {far.person}", "kin", reason, _certainty(near.person))


def _containment_rule(first: ParsedPremise, second: ParsedPremise) -> Conclusion | None:
    """`User lives in Lisbon`, `Lisbon is in Portugal`: User lives in Portugal."""
    home, located = first.residence, second.location
    if home is None or located is None or home.place != normalize_phrase(located[0]):
        return None
    small, large = located
    text = f"{home.person} lives in {large}"
    return Conclusion(
        text, "place", f"{home.person} lives in {small}, and {small} is in {large}", SINGLE_NAME_CERTAINTY
    )


def _age_rule(first: ParsedPremise, second: ParsedPremise) -> Conclusion | None:
    """`Ann was born on 3 May 1990`, `Ann moved to Rome in June 2024`: Ann was 34 then."""
    if first.birth is None or second.dated_event is None or first.birth[0] != second.dated_event[0]:
        return None
    name, day = first.birth
    begins, ends = (
        _age_in_years(day.first, event_date) for event_date in (second.dated_event[1].first, second.dated_event[1].last)
    )
    if day.first != day.last or begins != ends or not 0 <= begins <= MAX_AGE_YEARS:
        return None
    text = f"{name} was {begins} years old when {second.text}"
    return Conclusion(text, "age", f"{name} was born on {day.first.isoformat()}", _certainty(name))


def _age_in_years(born: date, then: date) -> int:
    return then.year - born.year - ((then.month, then.day) < (born.month, born.day))


def _certainty(name: str) -> float:
    return CERTAIN if " " in name else SINGLE_NAME_CERTAINTY
