"""Readings of a statement: its outline, in English or in another language, and those of its clauses. Pure."""

import re
from dataclasses import replace
from functools import lru_cache

from pipeline.memory.languages.language_detection import detect_language, is_doubtful
from pipeline.memory.outlines.english_statements import english_outline
from pipeline.memory.outlines.foreign_statements import foreign_outline
from pipeline.memory.outlines.foreign_stems import UNSPACED
from pipeline.memory.outlines.statement import Statement
from pipeline.memory.outlines.vocabulary import CACHED_TEXTS
from pipeline.memory.outlines.wording import as_done, as_said_of_user, as_told, without_days
from pipeline.text.english_verbs import is_past

_SPOKEN = re.compile(r"^(?P<speaker>[A-Z][\w .'-]{0,40}): (?P<said>.+)$", re.DOTALL)
_CLAUSE_ENDS = re.compile("[,;\uff0c\u3001\u060c] *(?:and |but |so )?| (?:and|but|so) (?=User\\b)")
_CLAUSE = re.compile(
    r"(?:User|[A-Z][\w-]+|(?:the|their|his|her|our) [\w-]+) (?:\w+ly )?[\w']+|[a-z-]+'s (?:on|at|in|now|off|over|\d)|"
    r"[a-z-]+ (?:is|are|has|was|went|got|moved) "
)
"""A clause of English that names its subject."""
_OF_WHOLE = frozenset({"corrects", "changed"})


@lru_cache(maxsize=CACHED_TEXTS)
def outline(text: str) -> Statement:
    """Return the outline of a statement.

    >>> found = outline("User quit the choir, too much drama")
    >>> found.holder, [phrase.head for phrase in found.ended]
    ('user', ['choir'])
    """
    with_days = text.replace("\u2019", "'")
    text = as_said_of_user(as_done(without_days(with_days)))
    spoken = _SPOKEN.match(text)
    if spoken is None:
        first = text.partition(" ")[0]
        text = f"User {text}" if first.islower() and is_past(first) else text
        return english_outline(text, with_days)
    if not _is_english(spoken["said"]):
        return foreign_outline(spoken["speaker"], spoken["said"])
    text = as_told(spoken["speaker"], spoken["said"])
    return english_outline(text, text)


@lru_cache(maxsize=CACHED_TEXTS)
def outlines(text: str) -> tuple[Statement, ...]:
    """Return the outline of a statement, and those of its clauses, of which each has a subject of its own.

    >>> said = "User: der Kurt geht in Rente, meine Schwester ist jetzt Chefin"
    >>> [found.holder for found in outlines(said) if found.is_foreign]
    ['user', 'user', 'user schwester']
    """
    of_whole = readings(text)
    # Who was wrong in one clause says what is right in another.
    said = of_whole[0].marks & _OF_WHOLE if of_whole[0].says("corrects") else frozenset()
    of_clauses = (found for clause in clauses(text) for found in readings(clause))
    return (*of_whole, *(replace(found, marks=found.marks | said) if said else found for found in of_clauses))


def readings(text: str) -> tuple[Statement, ...]:
    """Return the outline of a statement, and its English one where a few words may be of another language, too.

    >>> [found.is_foreign for found in readings("User: koffie 9.30")]
    [True, False]
    """
    found, spoken = outline(text), _SPOKEN.match(text)
    if spoken is None or not found.is_foreign or not spoken["said"].isascii():
        return (found,)
    return found, english_outline(as_told(spoken["speaker"], spoken["said"]).rstrip(".!"))


def clauses(text: str) -> list[str]:
    """Return the parts of a statement between commas that say something by themselves; none of one without.

    >>> clauses("User: el móvil murió, ahora tengo un Pixel"), clauses("User likes tea, coffee and rum")
    (['User: el móvil murió', 'User: ahora tengo un Pixel'], [])
    """
    spoken = _SPOKEN.match(text)
    speaker, said = ("", text) if spoken is None else (f"{spoken['speaker']}: ", spoken["said"])
    parts = _CLAUSE_ENDS.split(said)
    if spoken is None:
        parts = [part for at, part in enumerate(parts) if at == 0 or _CLAUSE.match(part)]
    found = [f"{speaker}{part}" for part in parts if len(part.split()) > 1 or UNSPACED.search(part)]
    return found if len(parts) > 1 else []


def _is_english(said: str) -> bool:
    return said.isascii() and not is_doubtful(said) and detect_language(said) is None
