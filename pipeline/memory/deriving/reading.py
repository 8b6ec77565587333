"""What a memory offers to conclusions: whose somebody is who, what is said of whom, and what lies where.

Strict on purpose: what is not of one of these forms offers nothing, and nothing is concluded from it.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from pipeline.memory.dates import When, dated
from pipeline.memory.slots.grammar import NAME
from pipeline.memory.slots.reading import slots
from pipeline.memory.slots.slot import Slot
from pipeline.memory.slots.times import parts
from pipeline.memory.slots.values import plain
from pipeline.memory.verbs import words

LONGEST = 200
"""Characters of a memory that something is concluded from."""
_KIN = (
    "mother father sister brother son daughter wife husband grandmother grandfather grandson granddaughter "
    "aunt uncle niece nephew cousin"
)
_OTHERS = (
    "best friend|friend|partner|girlfriend|boyfriend|boss|manager|supervisor|mentor|coach|dentist|doctor|"
    "therapist|landlord|landlady|lawyer|accountant|teacher|tutor|trainer|assistant|roommate|flatmate|"
    "neighbour|neighbor|colleague"
)
_ALIKE = {"mom": "mother", "mum": "mother", "dad": "father"}
_TITLE = r"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?"
_PERSON = rf"{_TITLE}{NAME}"
_ROLE = (
    r"(?:new |current )?(?P<role>(?:(?:older|younger|elder|big|little|twin) )?"
    rf"(?:{'|'.join((*_KIN.split(), *_ALIKE))}|{_OTHERS}))"
)
_OF = re.compile(
    rf"(?P<whose>{_PERSON})'s {_ROLE} is (?:now )?(?:called |named )?(?P<who>{_PERSON})(?: now)?\.?$"
)
_IS = re.compile(rf"(?P<who>{_PERSON}) is (?:now )?(?P<whose>{_PERSON})'s {_ROLE}(?: now)?\.?$")
_PLACE = r"[A-Z][\w'-]*(?: (?:[A-Z][\w'-]*|de|la|del|am|upon))*"
_LIES = re.compile(
    rf"(?P<what>{_PLACE}) is (?:a (?:(?:small|large|big|old) )?(?:city|town|village|suburb|municipality) in |"
    rf"(?:the capital(?: city)?|a district|a borough|a part|a suburb|part) of |in )"
    rf"(?:the )?(?P<where>{_PLACE})\.?$"
)
_SEASONS = words("spring summer autumn fall winter")
_WITH_TITLE = re.compile(_TITLE)
_LIMITED = re.compile(
    r"\b(?:until|till|for|in (?:winter|spring|summer|autumn|fall)|every|during|before|twice)\b"
)
_BORN = re.compile(rf"(?P<who>{_PERSON}) was born on .*\d{{4}}\.?$")
_ONCE = re.compile(
    rf"(?P<who>{_PERSON}) (?:moved|relocated|married|got (?:married|engaged|divorced|promoted|hired)|"
    r"graduated|retired|started (?:working|a )|joined|founded|was (?:promoted|hired)) "
)
_CARRIED = frozenset(
    {"residence", "employer", "job", "birthday", "age", "phone number", "email", "address", "is on"}
)
"""Attributes that are worth saying of somebody's somebody too…"""
_CONDITION = re.compile(r"(?:allergic|vegetarian|vegan|pescatarian|diabetic|lactose|gluten)\b")
"""…and what somebody `is`."""


@dataclass(frozen=True, slots=True)
class Role:
    """`whose` `role` is `who`."""

    whose: str
    role: str
    who: str

    @property
    def kin(self) -> str | None:
        """The kind of relative, `younger` and the like left out; None for others."""
        said = self.role.split()[-1]
        said = _ALIKE.get(said, said)
        return said if said in _KIN.split() else None


@dataclass(frozen=True, slots=True)
class Home:
    """Where somebody lives, without an end and a season."""

    who: str
    where: str


@dataclass(frozen=True, slots=True)
class Offer:
    """A memory's text as far as rules need it; what is None or empty it does not say.

    `about`: the name that it begins with, where that is somebody of whom it is worth knowing.
    `located`: what lies where. `born` and `once`: who was born, or did something once, on these days.
    """

    text: str
    role: Role | None = None
    about: str | None = None
    is_based: bool = False
    home: Home | None = None
    located: tuple[str, str] | None = None
    born: tuple[str, When] | None = None
    once: tuple[str, When] | None = None


@lru_cache(maxsize=4096)
def read(text: str) -> Offer:
    """What a memory offers; nothing where its form is not known."""
    text = text.strip().rstrip(".").replace("\u2019", "'")
    if len(text) > LONGEST:
        return Offer(text)
    if (match := _OF.match(text) or _IS.match(text)) is not None:
        return Offer(text, role=Role(match["whose"], match["role"], match["who"]))
    if (match := _LIES.match(text)) is not None and _is_place(match["where"]):
        return Offer(text, located=(match["what"], match["where"]))
    born, once = _on(_BORN, text), _on(_ONCE, text)
    return _attributed(text, Offer(text, born=born, once=once))


def _is_place(name: str) -> bool:
    """`Berlin is in March` says when something is that is called Berlin."""
    return name.casefold() not in _SEASONS and not parts(name.casefold())


def _attributed(text: str, offer: Offer) -> Offer:
    """With what the text says of the person, or the company, that it begins with."""
    title = _WITH_TITLE.match(text)
    begin = title.end() if title is not None else 0
    for slot in slots(text[begin:]):
        who = _named(text, begin, slot.subject)
        if who is None or slot.denies or slot.replaces is not None:
            continue
        if slot.attribute == "employer":
            return _employed(offer, who, text)
        if slot.attribute in _CARRIED or (slot.attribute == "is" and _CONDITION.match(slot.value)):
            based = slot.attribute == "residence" and " is based in " in text
            home = Home(who, slot.value) if _is_home(slot) else None
            return Offer(text, None, who, based, home, None, offer.born, offer.once)
    return offer


def _employed(offer: Offer, who: str, text: str) -> Offer:
    """An employer is whose somebody works there, by the name that the text gives it."""
    match = re.search(rf" (?:at|for|by) (?P<where>{_PLACE})", text)
    role = None if match is None else Role(who, "employer", match["where"])
    return Offer(text, role, who, False, None, None, offer.born, offer.once)


def _named(text: str, begin: int, subject: str) -> str | None:
    """The name as the text has it; None for what is not a name, or somebody's somebody."""
    end = begin + len(subject)
    name = text[:end]
    is_name = re.fullmatch(_PERSON, name) is not None and plain(text[begin:end]) == subject
    return name if is_name and text[end : end + 1] in (" ", "'") else None


def _is_home(slot: Slot) -> bool:
    return slot.attribute == "residence" and _LIMITED.search(slot.detail) is None


def _on(form: re.Pattern[str], text: str) -> tuple[str, When] | None:
    """Who, and the one time that the text says."""
    match = form.match(text)
    times = dated(text, None).times if match is not None else ()
    return (match["who"], times[0]) if match is not None and len(times) == 1 else None
