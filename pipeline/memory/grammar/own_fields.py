"""Fields of a person: `Allergies: penicillin`, `Dog: Biscuit, 4 y` in a note of theirs. Pure."""

import re
from collections.abc import Sequence

from pipeline.memory.languages.english import english_words
from pipeline.text.english_nouns import RELATIVES, is_plural, own_noun
from pipeline.text.english_verbs import is_gerund

_FIELD = re.compile(
    r"^\W{0,5}(?:(?:[Mm]y|(?:[Tt]he )?[Uu]ser['\u2019]s) (?P<own>[\w' /-]{2,40}?)|"
    r"(?P<key>(?!(?i:I|we|they|he|she|you)\b)[A-Za-z][A-Za-z' /-]{1,24}?))[*_]{0,2}(?: ?:[*_]{0,2} +| = )"
    r"(?P<value>(?=\S*\w)[^:?\n]{1,70}(?::\d\d[^:?\n]{0,40})?)$"
)
_TITLED = re.compile(
    r"^\W{0,3}(?!(?:date|subject|from|to|cc|re|present|attend\w+|participants|version|page|status|note)\b)"
    r"(?P<key>[^\W\d_][^\W\d_]+(?: [^\W\d_]+){0,2})[*_]{0,2} ?:[*_]{0,2} +(?P<value>(?-i:[^\W\d_a-z][\w'&-]*\.?(?: "
    r"(?:de|da|van|of|and|&|[^\W\d_a-z][\w'&-]*\.?))+)|\d[\d.,]* ?(?:[^\W\d_]+|[%$\u20ac\u00a3])(?: [\w ]{2,30})?)"
    r"(?:, (?-i:[A-Z])\w+)?\W*$",
    re.IGNORECASE,
)
"""A field of a document whose value is a name of several words, or an amount."""
_OF_WHOM = re.compile(
    r"\W*(?:Patient|Tenant|Employee|Applicant|Passenger|Guest|Student|Pupil|Resident|Insured|Candidate)\b",
    re.IGNORECASE,
)
"""Whom the other fields of a form are about."""
_COPULA = re.compile(r" (?:is|are)$")
_ALLERGY = re.compile(r"(?:food )?(?:allerg(?:y|ies)|allergic to)$")


def own_field(field: str, writer: str) -> str | None:
    """Return what a field that is marked as its writer's says of them; None for any other.

    >>> own_field("My dog: Biscuit, 4 y", "Ann"), own_field("My allergies: nuts", "Ann"), own_field("Dog: Rex", "Ann")
    ("Ann's dog is Biscuit, 4 y", 'Ann is allergic to nuts', None)
    """
    match = _FIELD.match(field)
    if match is None or not match["own"]:
        return None
    key, value = _COPULA.sub("", match["own"].lower()), match["value"].strip(" .;,*_")
    if not value or value.startswith("//"):
        return None
    first = value.split()[0]
    if key in RELATIVES and first[0].islower() and first not in english_words("traits") and not is_gerund(first):
        return None  # `Dad: head torch`
    if _ALLERGY.match(key):
        return f"{writer} is allergic to {value}"
    if key == "age" and value.split()[0].isdigit():
        return f"{writer} is {value}{' years old' if value.isdigit() else ''}"
    return f"{writer}'s {key} {'are' if is_plural(key) else 'is'} {value}"


def titled_field(field: str, title: str) -> str | None:
    """Return what a field tells of the document in whose title it stands; None if it is none, or names nothing.

    >>> titled_field("Supplier: Halvorsen Marine.", "Order 4471"), titled_field("Present: Ann Lee.", "Order 4471")
    ('Order 4471, Supplier: Halvorsen Marine', None)
    """
    match = _TITLED.match(field)
    if match is None or not title:
        return None
    return f"{title}, {match['key']}: {match['value'].strip(' .')}"


def mark_as_own(field: str) -> str:
    """Return a field with its owner.

    >>> mark_as_own("- **Dog**: Biscuit")
    'My Dog: Biscuit'
    """
    match = _FIELD.match(field)
    return field if match is None or match["own"] else f"My {match['key']}: {match['value']}"


def own_lines(lines: Sequence[str]) -> set[int]:
    """Return which lines are fields of their writer: three quarters of the fields that stand together have to be.

    >>> own_lines(["Name: Ilse", "Age: 52", "", "Name: numpy", "Version: 2"])
    {0, 1}
    """
    found = set[int]()
    block: list[tuple[int, str]] = []
    is_form = False
    for at, line in enumerate([*lines, ""]):
        if (match := _FIELD.match(line.rstrip())) is not None:
            if _OF_WHOM.match(line) is not None:
                is_form = True
                continue
            block.append((at, match["own"] or match["key"]))
            continue
        kinds = {place: own_noun(key) for place, key in block}
        owned = {place for place, kind in kinds.items() if kind in ("own", "shared")}
        if "own" in kinds.values() and len(owned) * 4 >= len(kinds) * 3:
            found |= owned
        elif is_form:
            found |= {place for place, kind in kinds.items() if kind == "own"}
        block = []
    return found
