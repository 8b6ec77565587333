"""Other wordings of an English statement that say the same, so that outlines have to know but one. Pure."""

import re

from pipeline.memory.languages.english import english_forms, english_marks, english_pattern, english_words
from pipeline.memory.outlines.vocabulary import stem, stems
from pipeline.text.english_verbs import is_past

_DAY = re.compile(
    r" (?:(?:on|in|since|until|by|around) )?(?:the night of )?(?:\d{1,2} )?"
    rf"(?:{english_pattern('months')})\b(?: \d{{4}})?(?:/\S+)?"
)
_DONE, _BEGUN = english_forms("done"), english_forms("begun")
_HAD_TO = re.compile(rf"\b(?:had|managed) to (?P<verb>{'|'.join(_DONE)})\b")
_TO_BEGIN = re.compile(rf"\b(?:(?:is|are) (?:(?!not\b)\w+ )?)?\b(?P<verb>{'|'.join(_BEGUN)})\b(?! to [a-z])")
_TOGETHER = re.compile(
    r"^(?:User and (?P<after>[A-Z][\w-]+)|(?P<before>[A-Z][\w-]+) and User) (?P<rest>.+)$", re.DOTALL
)
_NEW = re.compile(r"^new (?P<thing>(?:[\w-]+ ){0,2}?[\w-]+)(?:'s|:| is) ", re.IGNORECASE)
_I = re.compile(r"\b(?:i|we)\b", re.IGNORECASE)
_MY = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_NAMING = re.compile(
    r"^(?P<whose>[A-Z][\w-]*(?:'s [\w-]+(?: [\w-]+)?){1,2})(?:'s name is|'s (?:called|named)| is (?:called|named))\b"
)
_IS_USERS = re.compile(
    r"^(?P<value>(?!User\b)[A-Z][\w. '-]{0,40}?) is (?P<now>now )?(?P<thing>User's (?:[\w-]+ ){0,3}?[\w-]+)"
    r"(?P<rest>(?: (?:now|these days|nowadays|since\b.*|from now on|at the moment|instead))?)$"
)


def without_days(text: str) -> str:
    """Return a memory without its days, which are no part of what changes.

    >>> without_days("User sold the car on 20 November 2026.")
    'User sold the car'
    """
    return _DAY.sub("", text).strip().rstrip(".!")


def as_done(text: str) -> str:
    """Return what somebody had to do, and so did, as done.

    >>> as_done("User had to push the wedding"), as_done("User managed to quit smoking")
    ('User pushed the wedding', 'User quit smoking')
    """
    return _HAD_TO.sub(lambda match: _DONE[match["verb"]], text)


def as_begun(text: str) -> str:
    """Return what is planned as if its day had come.

    >>> as_begun("User is moving to Oslo in March"), as_begun("User starts at Pret on 3 March")
    ('User moved to Oslo in March', 'User started at Pret on 3 March')
    """
    return _TO_BEGIN.sub(lambda match: _BEGUN[match["verb"]], text, count=1)


def is_planned(text: str) -> bool:
    """Return whether a statement tells of a change that is still to come.

    >>> is_planned("User is starting at Pret in January"), is_planned("User started at Pret in January")
    (True, False)
    """
    return english_marks("marks_with_days")["planned"].search(text) is not None


def as_said_of_user(text: str) -> str:
    """Return what two people are or do together as said of the user.

    >>> as_said_of_user("Daniel and User have been together since uni")
    'User have been together since uni with Daniel'
    """
    return _TOGETHER.sub(lambda both: f"User {both['rest']} with {both['after'] or both['before']}", text)


def as_told(speaker: str, said: str) -> str:
    """Return what somebody says of themselves in English as a memory tells it.

    >>> as_told("User", "had to quit my job"), as_told("User", "my visa ran out"), as_told("User", "landlord left")
    ("User had to quit User's job", "User's visa ran out", 'landlord left')
    """
    told = _MY.sub(f"{speaker}'s", _I.sub(speaker, said))
    first = told.partition(" ")[0].lower()
    return f"{speaker} {told}" if is_past(first) or first in english_words("begins_without_subject") else told


def with_thing_first(text: str) -> str:
    """Return what names somebody's thing or person with that first, before its name.

    >>> with_thing_first("Fontaines DC is User's favourite band these days")
    "User's favourite band is Fontaines DC these days"
    >>> with_thing_first("new dog walker: Paulo")
    "User's new dog walker is Paulo"
    >>> with_thing_first("User's boyfriend's name is Liam"), with_thing_first("User's boyfriend is called Liam")
    ("User's boyfriend is Liam", "User's boyfriend is Liam")
    """
    text = _NAMING.sub(r"\g<whose> is", _NEW.sub(r"User's new \g<thing> is ", text))
    said = _IS_USERS.match(text)
    if said is None or stem(said["thing"].rpartition(" ")[2]) in stems("ones_of_several"):
        return text
    return f"{said['thing']} is {said['now'] or ''}{said['value']}{said['rest']}"
