"""Premises in memories: roles (whose sister is who), attributes of persons, locations, dated events.

Strict on purpose: a text in any other form is not a premise.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from pipeline.memory.attributes.attribute import Attribute
from pipeline.memory.attributes.attribute_extraction import extract_attributes
from pipeline.memory.attributes.attribute_patterns import NAME
from pipeline.memory.attributes.time_values import time_components
from pipeline.memory.attributes.value_normalization import normalize_phrase
from pipeline.text.english_verbs import word_set
from pipeline.text.temporal_expressions import DateRange, resolve_dates

MAX_PREMISE_CHARS = 200
"""Characters of a memory that can be a premise."""
_KIN = (
    "mother father sister brother son daughter wife husband grandmother grandfather grandson granddaughter "
    "aunt uncle niece nephew cousin"
)
_OTHERS = (
    "best friend|friend|partner|girlfriend|boyfriend|boss|manager|supervisor|mentor|coach|dentist|doctor|therapist|"
    "landlord|landlady|lawyer|accountant|teacher|tutor|trainer|assistant|roommate|flatmate|neighbour|neighbor|colleague"
)
_ALIKE = {"mom": "mother", "mum": "mother", "dad": "father"}
_TITLE = r"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?"
_PERSON = rf"{_TITLE}{NAME}"
_ROLE = (
    r"(?:new |current )?(?P<role>(?:(?:older|younger|elder|big|little|twin) )?"
    rf"(?:{'|'.join((*_KIN.split(), *_ALIKE))}|{_OTHERS}))"
)
_OF = re.compile(rf"(?P<whose>{_PERSON})'s {_ROLE} is (?:now )?(?:called |named )?(?P<who>{_PERSON})(?: now)?\.?$")
_IS = re.compile(rf"(?P<who>{_PERSON}) is (?:now )?(?P<whose>{_PERSON})'s {_ROLE}(?: now)?\.?$")
_PLACE = r"[A-Z][\w'-]*(?: (?:[A-Z][\w'-]*|de|la|del|am|upon))*"
_LIES = re.compile(
    rf"(?P<what>{_PLACE}) is (?:a (?:(?:small|large|big|old) )?(?:city|town|village|suburb|municipality) in |"
    rf"(?:the capital(?: city)?|a district|a borough|a part|a suburb|part) of |in )"
    rf"(?:the )?(?P<where>{_PLACE})\.?$"
)
_SEASONS = word_set("spring summer autumn fall winter")
_WITH_TITLE = re.compile(_TITLE)
_LIMITED = re.compile(r"\b(?:until|till|for|in (?:winter|spring|summer|autumn|fall)|every|during|before|twice)\b")
_BORN = re.compile(rf"(?P<who>{_PERSON}) was born on .*\d{{4}}\.?$")
_ONCE = re.compile(
    rf"(?P<who>{_PERSON}) (?:moved|relocated|married|got (?:married|engaged|divorced|promoted|hired)|"
    r"graduated|retired|started (?:working|a )|joined|founded|was (?:promoted|hired)) "
)
_CARRIED = frozenset({"residence", "employer", "job", "birthday", "age", "phone number", "email", "address", "is on"})
"""Attributes worth repeating of a relative or colleague…"""
_CONDITION = re.compile(r"(?:allergic|vegetarian|vegan|pescatarian|diabetic|lactose|gluten)\b")
"""…and conditions stated with `is`."""


@dataclass(frozen=True, slots=True)
class Role:
    """`person` is `whose`'s `role`."""

    whose: str
    role: str
    person: str

    @property
    def kinship(self) -> str | None:
        """The kind of relative without `younger` and the like; None for non-relatives."""
        kind = self.role.split()[-1]
        kind = _ALIKE.get(kind, kind)
        return kind if kind in _KIN.split() else None


@dataclass(frozen=True, slots=True)
class Residence:
    """A person's permanent residence, without end or season."""

    person: str
    place: str


@dataclass(frozen=True, slots=True)
class ParsedPremise:
    """A memory's text as inference rules need it.

    `subject`: the leading name, if an attribute worth repeating is stated. `location`: a place and the
    larger one that contains it. `birth`, `dated_event`: a name and the days of the event.
    """

    text: str
    role: Role | None = None
    subject: str | None = None
    is_based: bool = False
    residence: Residence | None = None
    location: tuple[str, str] | None = None
    birth: tuple[str, DateRange] | None = None
    dated_event: tuple[str, DateRange] | None = None


@lru_cache(maxsize=4096)
def parse_premise(text: str) -> ParsedPremise:
    """Parse a memory; in an unknown form only `text` is set."""
    text = text.strip().rstrip(".").replace("\u2019", "'")
    if len(text) > MAX_PREMISE_CHARS:
        return ParsedPremise(text)
    if (match := _OF.match(text) or _IS.match(text)) is not None:
        return ParsedPremise(text, role=Role(match["whose"], match["role"], match["who"]))
    if (match := _LIES.match(text)) is not None and _is_place(match["where"]):
        return ParsedPremise(text, location=(match["what"], match["where"]))
    born, once = _match_dated(_BORN, text), _match_dated(_ONCE, text)
    return _with_person_attribute(text, ParsedPremise(text, birth=born, dated_event=once))


def _is_place(name: str) -> bool:
    """Return whether a name is a place: `Berlin is in March` tells when, not where."""
    return name.casefold() not in _SEASONS and not time_components(name.casefold())


def _with_person_attribute(text: str, premise: ParsedPremise) -> ParsedPremise:
    """Add what the text states about the person or company it begins with."""
    title = _WITH_TITLE.match(text)
    begin = title.end() if title is not None else 0
    for attribute in extract_attributes(text[begin:]):
        name = _leading_name(text, begin, attribute.subject)
        if name is None or attribute.is_planned or attribute.is_negated or attribute.replaced_value is not None:
            continue
        if attribute.name == "employer":
            return _with_employer(premise, name, text)
        if attribute.name in _CARRIED or (attribute.name == "is" and _CONDITION.match(attribute.value)):
            is_based = attribute.name == "residence" and " is based in " in text
            residence = Residence(name, attribute.value) if _is_residence(attribute) else None
            return ParsedPremise(text, None, name, is_based, residence, None, premise.birth, premise.dated_event)
    return premise


def _with_employer(premise: ParsedPremise, name: str, text: str) -> ParsedPremise:
    """Add an employer as a role, by the name that the text gives it."""
    match = re.search(rf" (?:at|for|by) (?P<where>{_PLACE})", text)
    role = None if match is None else Role(name, "employer", match["where"])
    return ParsedPremise(text, role, name, False, None, None, premise.birth, premise.dated_event)


def _leading_name(text: str, begin: int, subject: str) -> str | None:
    """Return the name as written; None for anything but a name, or for `Ann's sister`."""
    end = begin + len(subject)
    name = text[:end]
    is_name = re.fullmatch(_PERSON, name) is not None and normalize_phrase(text[begin:end]) == subject
    return name if is_name and text[end : end + 1] in (" ", "'") else None


def _is_residence(attribute: Attribute) -> bool:
    return attribute.name == "residence" and _LIMITED.search(attribute.detail) is None


def _match_dated(form: re.Pattern[str], text: str) -> tuple[str, DateRange] | None:
    """Return the name and the only date in the text."""
    match = form.match(text)
    times = resolve_dates(text, None).date_ranges if match is not None else ()
    return (match["who"], times[0]) if match is not None and len(times) == 1 else None
