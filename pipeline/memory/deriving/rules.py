"""The rules: each takes two memories that share a name, and says what holds if both do.

What they say follows from the words of both; that a name means the same in both is what they have to assume.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from pipeline.memory.deriving.reading import Offer, read
from pipeline.memory.slots.reading import slots
from pipeline.memory.slots.values import plain
from pipeline.memory.voice import WRITER

SURE, BY_NAME = 1.0, 0.9
"""How sure a conclusion is: less where one word is all that says who is meant."""
OLDEST = 120
_PARENT = ("mother", "father")
_CHILD = ("son", "daughter")
_SIBLING = ("brother", "sister")
_SPOUSE = ("wife", "husband")
_KIN = {
    **{(one, "mother"): "grandmother" for one in _PARENT},
    **{(one, "father"): "grandfather" for one in _PARENT},
    **{(one, "sister"): "aunt" for one in _PARENT},
    **{(one, "brother"): "uncle" for one in _PARENT},
    **{(one, "son"): "grandson" for one in _CHILD},
    **{(one, "daughter"): "granddaughter" for one in _CHILD},
    **{(one, "son"): "nephew" for one in _SIBLING},
    **{(one, "daughter"): "niece" for one in _SIBLING},
    **{(one, "wife"): "sister-in-law" for one in _SIBLING},
    **{(one, "husband"): "brother-in-law" for one in _SIBLING},
    **{(one, "mother"): "mother-in-law" for one in _SPOUSE},
    **{(one, "father"): "father-in-law" for one in _SPOUSE},
    **{(one, "brother"): "brother-in-law" for one in _SPOUSE},
    **{(one, "sister"): "sister-in-law" for one in _SPOUSE},
    **{(one, "wife"): "daughter-in-law" for one in _CHILD},
    **{(one, "husband"): "son-in-law" for one in _CHILD},
}
"""Somebody's relative's relative. A sister's mother, or a mother's husband, may be somebody else's."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What two memories say together: the rule, why it holds, and how sure it is (0 to 1)."""

    text: str
    rule: str
    why: str
    score: float


def held(text: str) -> tuple[str, ...]:
    """Keys by which a memory is found as a premise, and, where no slot does it, when it is said again."""
    return (*(f"derive {place} {name}" for place, name in _places(read(text))), *_itself(text))


def sought(text: str) -> tuple[str, ...]:
    """Keys of which every memory has one that something follows from together with this one; and its own."""
    return (*(f"derive {_PARTNER[place]} {name}" for place, name in _places(read(text))), *_itself(text))


_PARTNER = {
    "role to": "said of",
    "said of": "role to",
    "kin to": "kin of",
    "kin of": "kin to",
    "home in": "place",
    "place": "home in",
    "born": "once",
    "once": "born",
}
"""The two places in each rule where both memories have the same name."""


def _itself(text: str) -> tuple[str, ...]:
    offer = read(text)
    return () if offer == Offer(offer.text) or slots(text) else (f"derive says {offer.text.casefold()}",)


def _places(one: Offer) -> Iterator[tuple[str, str]]:
    if one.role is not None:
        yield "role to", plain(one.role.who)
        if one.role.kin is not None:
            yield "kin to", plain(one.role.who)
            yield "kin of", plain(one.role.whose)
    if one.about is not None:
        yield "said of", plain(one.about)
    if one.home is not None:
        yield "home in", one.home.where
    if one.located is not None:
        yield "place", plain(one.located[0])
    if one.born is not None:
        yield "born", plain(one.born[0])
    if one.once is not None:
        yield "once", plain(one.once[0])


def concluded(one: str, other: str) -> list[Conclusion]:
    """All that follows from two memories, in whichever order.

    >>> [said.text for said in concluded("Clara lives in Rome", "User's sister is Clara")]
    ["User's sister Clara lives in Rome"]
    """
    here, there = read(one), read(other)
    return [
        said
        for first, second in ((here, there), (there, here))
        for rule in (_of_somebody, _of_a_relative, _in_a_larger_place, _at_an_age)
        if (said := rule(first, second)) is not None
    ]


def _of_somebody(first: Offer, second: Offer) -> Conclusion | None:
    """`User's sister is Clara`, `Clara lives in Rome`: User's sister does."""
    role, about = first.role, second.about
    if role is None or about is None or about != role.who or role.who in (role.whose, WRITER):
        return None
    if role.role == "employer" and not second.is_based:
        return None
    text = f"{role.whose}'s {role.role} {second.text}"
    return Conclusion(text, "role", f"{role.whose}'s {role.role} is {role.who}", _certainty(role.who))


def _of_a_relative(first: Offer, second: Offer) -> Conclusion | None:
    """`User's mother is Eva`, `Eva's mother is Rosa`: Rosa is User's grandmother."""
    near, far = first.role, second.role
    if near is None or far is None or near.who != far.whose or far.who == near.whose:
        return None
    kin = _KIN.get((near.kin or "", far.kin or ""))
    if kin is None:
        return None
    why = f"{near.whose}'s {near.kin} is {near.who}, whose {far.kin} is {far.who}"
    return Conclusion(f"{near.whose}'s {kin} is {far.who}", "kin", why, _certainty(near.who))


def _in_a_larger_place(first: Offer, second: Offer) -> Conclusion | None:
    """`User lives in Lisbon`, `Lisbon is in Portugal`: User lives in Portugal."""
    home, located = first.home, second.located
    if home is None or located is None or home.where != plain(located[0]):
        return None
    small, large = located
    text = f"{home.who} lives in {large}"
    return Conclusion(text, "place", f"{home.who} lives in {small}, and {small} is in {large}", BY_NAME)


def _at_an_age(first: Offer, second: Offer) -> Conclusion | None:
    """`Ann was born on 3 May 1990`, `Ann moved to Rome in June 2024`: Ann was 34 then."""
    if first.born is None or second.once is None or first.born[0] != second.once[0]:
        return None
    who, day = first.born
    begins, ends = (_years(day.first, one) for one in (second.once[1].first, second.once[1].last))
    if day.first != day.last or begins != ends or not 0 <= begins <= OLDEST:
        return None
    text = f"{who} was {begins} years old when {second.text}"
    return Conclusion(text, "age", f"{who} was born on {day.first.isoformat()}", _certainty(who))


def _years(born: date, then: date) -> int:
    return then.year - born.year - ((then.month, then.day) < (born.month, born.day))


def _certainty(name: str) -> float:
    return SURE if " " in name else BY_NAME
