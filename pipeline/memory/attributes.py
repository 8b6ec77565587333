"""The slot of a fact where it is safe to say: whose attribute, which, and its value."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from pipeline.memory.places import is_region
from pipeline.memory.verbs import words

LONGEST_VALUE = 6
"""Words; what is longer is a description, not a value."""


@dataclass(frozen=True, slots=True)
class Slot:
    """An attribute that has one value at a time, and the value.

    `replaces`: the only old value that this one contradicts (`switched from A to B`, `no longer uses A`).
    `single` False: several values stand beside each other, so only a named old value is replaced.
    `worded`: the value is a name or a phrase that may be more or less exact (Berlin, East Berlin).
    """

    subject: str
    attribute: str
    value: str
    replaces: str | None = None
    single: bool = True
    worded: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """What two facts must share to be about the same thing."""
        return self.subject, self.attribute


_PERSON = r"(?P<s>User|[A-Z][\w'-]*[\w](?: [A-Z][\w'-]*[\w]){0,2})"
_NOW = r"(?:(?:now|currently|actually|officially|just|recently|finally|still) )?"
_HIRED = rf"{_NOW}(?:started (?:working|a new job)|got (?:a |the )?(?:new )?job|got hired)"
_PLACE = r"(?P<v>[A-Z][\w.'-]+(?:,? (?:[A-Z][\w.'-]+|de|la|del|am|upon))*)"
_NAMED = r"(?P<v>[A-Z0-9][\w.&'+-]*(?: (?:[A-Z0-9&][\w.&'+-]*|of|and|the|for|de))*)"
_FREE = r"(?P<v>[^,;:()]+)"
_TOPIC = r"(?P<s>[\w][\w' .+-]{0,60}?)"
_STATE = (
    "status|price|cost|version|deadline|due date|owner|manager|lead|maintainer|budget|release date|launch "
    "date|priority|"
    "ceo|cto|cfo|rate limit|default port|port|assignee|headcount|start date|end date|end-of-life date|"
    "latest version|"
    "current version|contact|phone number|address"
)
_CHANGED = (
    rf"{_NOW}(?:has |have )?{_NOW}(?:(?:been |was |is )?(?:changed|moved|switched|rose|risen|fell|dropped|"
    rf"went|increased|"
    r"decreased|raised|lowered|slipped|updated|pushed|postponed|extended|bumped))(?: (?:up|down|back))?(?: "
    r"from (?P<o>.+?))? to"
)
_END = (
    r"(?: (?:now|currently|these days|nowadays|anymore|already|instead|as of .*|since .*|starting .*|from .*|"
    r"this .*|last .*|with .*))*\.?$"
)


@dataclass(frozen=True, slots=True)
class _Form:
    pattern: re.Pattern[str]
    attribute: Callable[[re.Match[str]], str]
    single: bool = True
    worded: bool = False
    ended: bool = False


def _form(
    pattern: str,
    attribute: str | Callable[[re.Match[str]], str],
    *,
    single: bool = True,
    worded: bool = False,
    ended: bool = False,
) -> _Form:
    named = attribute if callable(attribute) else lambda _: attribute
    return _Form(re.compile(f"^{pattern}{_END}"), named, single, worded, ended)


def _favourite(match: re.Match[str]) -> str:
    return "favourite " + _plain(match["x"]).replace("colour", "color")


def _state(match: re.Match[str]) -> str:
    name = match["a"].lower()
    return {
        "cost": "price",
        "current version": "version",
        "latest version": "version",
        "due date": "deadline",
    }.get(name, name)


def _purpose(match: re.Match[str]) -> str:
    return "uses for " + _plain(match["x"])


_THING_A = rf"(?:The |Our )?(?P<a>{_STATE}) (?:of|for) {_TOPIC}"
_THING_B = rf"(?:The |Our )?{_TOPIC}(?:'s)? (?P<a>{_STATE})"
_NEW_VALUE = rf"(?:{_CHANGED}|(?:is|has been) {_NOW}(?:set to |at )?) ?{_FREE}"

_FORMS = (
    _form(
        rf"{_PERSON} (?:{_NOW}lives|is {_NOW}living|is {_NOW}based|{_NOW}resides) in {_PLACE}",
        "residence",
        worded=True,
    ),
    _form(
        rf"{_PERSON} (?:has )?{_NOW}(?:moved|relocated) (?:from (?P<o>[A-Z][\w ,.'-]+?) )?to {_PLACE}",
        "residence",
        worded=True,
    ),
    _form(rf"{_PERSON} (?:no longer lives|doesn't live) in (?P<n>[A-Z][\w ,.'-]+?)", "residence", ended=True),
    _form(
        rf"{_PERSON} (?:{_NOW}works|is {_NOW}working|is {_NOW}employed|{_HIRED}) (?:at|for|by) {_NAMED}",
        "employer",
        worded=True,
    ),
    _form(
        rf"{_PERSON} (?:no longer works|doesn't work) (?:at|for) (?P<n>[A-Z][\w ,.&'-]+?)",
        "employer",
        ended=True,
    ),
    _form(rf"{_PERSON} {_NOW}works as (?:an? |the )?{_FREE}", "job", worded=True),
    _form(
        rf"{_PERSON}'s (?:all-time )?favou?rite (?P<x>[\w -]{{2,40}}?) "
        rf"(?:is|(?:has )?changed (?:from .+? )?to) {_NOW}{_FREE}",
        _favourite,
        worded=True,
    ),
    _form(rf"{_PERSON}'s (?:full |real |first )?name is {_NOW}{_NAMED}", "name", worded=True),
    _form(rf"{_PERSON}'s e-?mail(?: address)? (?:is|changed to) {_NOW}(?P<v>\S+@\S+)", "email"),
    _form(
        rf"{_PERSON}'s (?:phone|mobile|cell)(?: number)? (?:is|changed to) {_NOW}(?P<v>\+?[\d ()-]{{5,}})",
        "phone",
    ),
    _form(rf"{_PERSON}'s birthday is (?:on )?{_FREE}", "birthday"),
    _form(rf"{_PERSON} is {_NOW}(?P<v>\d{{1,3}})(?: years old)?", "age"),
    _form(rf"{_PERSON} {_NOW}(?:uses|prefers) {_NAMED} for (?P<x>[\w -]{{2,40}}?)", _purpose, worded=True),
    _form(
        rf"{_PERSON} (?:has )?{_NOW}(?:switched|changed|migrated|moved) from (?P<o>[\w .+-]{{1,40}}?) to "
        rf"{_NAMED}",
        "uses",
        single=False,
    ),
    _form(
        rf"{_PERSON} (?:no longer uses|stopped using|doesn't use) (?P<n>[\w .+-]{{1,40}}?)",
        "uses",
        single=False,
        ended=True,
    ),
    _form(rf"{_PERSON} {_NOW}(?:uses|prefers) {_NAMED}", "uses", single=False),
    _form(rf"{_THING_A} {_NEW_VALUE}", _state),
    _form(rf"{_THING_B} {_NEW_VALUE}", _state),
    _form(rf"(?:The )?{_TOPIC} {_NOW}costs {_NOW}(?P<v>[$€£]?\d[\w .,$€£/]*)", "price"),
)
_HINT = re.compile(
    r"\b(?:in|to|at|for|by|as|is|uses|prefers|using|use|costs|favou?rite|changed|moved|switched|works?|"
    r"lives?|been)\b"
)
_VAGUE = re.compile(
    r"\b(?:and|or|but|because|which|who|that|when|where|while|if|although|not|so|very|really|too|good|"
    r"great|awesome|when|"
    r"about|like|to|it|this|unknown|unclear|important|high|low|different|same|one of|between|usually|often|"
    r"sometimes|both)\b"
)
_TRAILING = re.compile(
    r"(?: (?:now|currently|these days|nowadays|anymore|already|instead|too|as well|again))+$"
)
_ARTICLE = re.compile(r"^(?:an?|the|my|their|our)\s+")
_SPACES = re.compile(r"\s+")
_NOBODY = words(
    "the this that there it he she they we everyone everybody someone somebody nobody one people what "
    "which here if when "
    "today yesterday tomorrow so and but also another each every some any no all most many default current "
    "latest new old total initial "
    "main overall final first last other"
)


def slot(text: str) -> Slot | None:
    """The slot of a fact, or None where there is none or it isn't safe to tell.

    >>> slot("User now lives in Paris")
    Slot(subject='user', attribute='residence', value='paris', replaces=None, single=True, worded=True)
    """
    if not _HINT.search(text):
        return None
    for form in _FORMS:
        match = form.pattern.match(text)
        if match is not None:
            return _slot(form, match)
    return None


def _slot(form: _Form, match: re.Match[str]) -> Slot | None:
    found = match.groupdict()
    subject = _plain(found["s"])
    if not subject or subject.split()[0] in _NOBODY or len(subject.split()) > LONGEST_VALUE:
        return None
    raw = found.get("n") if form.ended else found.get("v")
    value = _plain(raw or "")
    if not value or len(value.split()) > LONGEST_VALUE or _VAGUE.search(value):
        return None
    slot = Slot(subject, form.attribute(match), value, single=form.single, worded=form.worded)
    if form.ended:
        return replace(slot, value=f"not {value}", replaces=value)
    old = found.get("o")
    return replace(slot, replaces=_plain(old)) if old and not form.single else slot


def _plain(text: str) -> str:
    folded = _SPACES.sub(" ", text.casefold()).strip(" .,!'\"*`")
    return _ARTICLE.sub("", _TRAILING.sub("", folded)).strip()


def contradicts(new: Slot, old: Slot) -> bool:
    """Whether the newer slot makes the older one untrue; in doubt it does not."""
    if new.key != old.key or new.value == old.value:
        return False
    if new.replaces is not None:
        return new.replaces == old.value
    if not (new.single and old.single):
        return False
    if not (new.worded and old.worded):
        return not new.worded or old.value.startswith("not ")
    return not _is_refinement(new, old)


def _is_refinement(new: Slot, old: Slot) -> bool:
    """Berlin and East Berlin, nurse and head nurse, Paris and France: more or less exact, not different."""
    if set(new.value.replace(",", "").split()) & set(old.value.replace(",", "").split()):
        return True
    return new.attribute == "residence" and is_region(new.value) != is_region(old.value)
