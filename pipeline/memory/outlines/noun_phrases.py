"""Noun phrases of English statements: what they name, their subject and verb, and whose the subject is. Pure."""

import re

from pipeline.memory.languages.english import english_numbers, english_words
from pipeline.memory.outlines.figures import TOKEN
from pipeline.memory.outlines.statement import Phrase
from pipeline.memory.outlines.vocabulary import BE, HAVE, USER, is_content, stem
from pipeline.text.english_nouns import RELATIVES
from pipeline.text.english_verbs import BASES, is_finite, is_past

_AUXILIARIES = english_words("auxiliaries")
_ADVERBS = english_words("adverbs_before_verbs")
_PREPOSITIONS = english_words("phrase_ends")
_DETERMINERS = english_words("determiners")
_TITLES = english_words("titles")
_OF_A_KIND = english_words("nouns_of_a_kind")
_CODE = re.compile(r"(?=(?:\D*\d){3})[\w-]+")
"""A number with letters, which is a figure and no noun: `KX4431`."""
_BEFORE_BASES = frozenset({"do", "does", "did", "doesn't", "didn't", "can", "can't", "will"})
_MAX_PLACE_WORDS = 5
"""Words from a preposition to the verb: `at the pool is`."""
_MAX_SUBJECT_WORDS, _MAX_NAME_WORDS = 7, 3
"""Words of a subject, and of a name that it begins with."""


def split_at_verb(text: str) -> tuple[str, str, str]:
    """Return the subject, the verb and what follows; a subject ends before the first auxiliary, verb or preposition.

    >>> split_at_verb("User's rent went up"), split_at_verb("User has been ill")
    (("User's rent", 'went', 'up'), ('User', 'be', 'ill'))
    """
    tokens = _with_place_first(text.replace(" no longer ", " never ").split())
    begin = at = _count_subject_words(tokens)
    while at < len(tokens) - 1 and tokens[at].lower() in _AUXILIARIES | _ADVERBS:
        at += 1
    auxiliaries = [word for word in map(str.lower, tokens[begin:at]) if word in _AUXILIARIES]
    subject = " ".join(tokens[:begin])
    is_helped = bool(auxiliaries) and auxiliaries[-1] in _BEFORE_BASES and tokens[at] in BASES  # `doesn't live`
    if (
        auxiliaries
        and not is_helped
        and (tokens[at].lower() in _DETERMINERS | _PREPOSITIONS or not _is_participle(tokens[at]))
    ):
        return subject, HAVE if auxiliaries[-1] in ("has", "have", "had") else BE, " ".join(tokens[at:])
    return subject, "".join(tokens[at : at + 1]), " ".join(tokens[at + 1 :])


def _with_place_first(tokens: list[str]) -> list[str]:
    """Put what a subject is at or of before it: the pool locker for `the locker at the pool`."""
    begin = _count_subject_words(tokens)
    if begin < 2 or tokens[begin : begin + 1] == [] or tokens[begin] not in _PREPOSITIONS:
        return tokens
    ends = range(begin + 2, min(begin + _MAX_PLACE_WORDS, len(tokens) - 1))
    end = next((at for at in ends if tokens[at] in _AUXILIARIES or is_finite(tokens[at])), None)
    if end is None or _PREPOSITIONS.intersection(tokens[begin + 1 : end]):
        return tokens
    place = [token for token in tokens[begin + 1 : end] if token.lower() not in _DETERMINERS]
    return [tokens[0], *place, *tokens[1:begin], *tokens[end:]]


def _count_subject_words(tokens: list[str]) -> int:
    first = tokens[0].lower()
    is_of_another = first in _DETERMINERS and len(tokens) > 2 and tokens[1].endswith("'s")
    owner = int(is_of_another or (first in _TITLES and len(tokens) > 1))
    is_owned = tokens[owner].endswith("'s") or first in _DETERMINERS
    is_name = len(tokens) > 1 and (is_past(tokens[1]) or tokens[1] in _AUXILIARIES)  # `Luigi's closed down`
    if is_owned and not is_name:
        return next(
            (at for at in range(owner + 1, min(_MAX_SUBJECT_WORDS, len(tokens))) if _ends_subject(tokens, at, 1)),
            next((at for at, token in enumerate(tokens[2:_MAX_SUBJECT_WORDS], 2) if token.endswith("s")), owner + 2),
        )
    if tokens[0] == "User":
        return 1
    most = min(_MAX_NAME_WORDS, len(tokens))
    named = next((at for at in range(1, most) if not _may_name(tokens[at])), most)
    # `Design sync has moved` is of a thing, `Leo moved` of somebody
    return next(
        (at for at in range(named, min(_MAX_NAME_WORDS + 2, len(tokens))) if _ends_subject(tokens, at, 0)), named
    )


def _may_name(token: str) -> bool:
    return token[0].isupper() or token[0].isdigit() or token in english_numbers()


def _ends_subject(tokens: list[str], at: int, owner: int) -> bool:
    """Return whether a subject ends before a word: `User's budget` before `got`, `User's kids` before `play`.

    `owner`: the place of the word after which no verb stands.
    """
    word = tokens[at].lower()
    is_verb = at > owner and (is_finite(word) or (word in BASES and tokens[at - 1].endswith("s")))
    return is_verb or word in _AUXILIARIES | _PREPOSITIONS | _ADVERBS


def _is_participle(token: str) -> bool:
    return token.islower() and token.endswith(("ing", "ed", "en"))


def holder_of(subject: str) -> tuple[str, Phrase | None]:
    """Return whom a subject is about, and what of theirs; things without an owner are taken for the user's.

    >>> holder_of("User's sister"), holder_of("The rent")[0], holder_of("Lena")
    (('user sister', None), 'user', ('lena', None))
    """
    tokens = subject.lower().split()
    if not tokens:
        return USER, None
    if tokens[0] in _DETERMINERS and len(tokens) > 2 and tokens[1].endswith("'s"):
        tokens = tokens[1:]  # `a friend's savings` are hers
    first = 1 + int(tokens[0] in _TITLES)
    owner, of = " ".join(tokens[:first]), tokens[first:]
    if not (of and owner[1:].endswith("'s")):
        is_thing = len(tokens) > 1 and subject.rsplit(maxsplit=1)[-1].islower()
        return (USER, phrase_of(tokens)) if is_thing or tokens[0] in _DETERMINERS else (" ".join(tokens), None)
    owner = owner.removesuffix("'s")
    kin = next((at for at, word in enumerate(of) if word.removesuffix("'s").removesuffix("s") in RELATIVES), None)
    if kin is None or (kin and of[kin] == "manager"):
        return owner, phrase_of(of)
    whose = of[kin].removesuffix("'s")
    return f"{owner} {whose}", phrase_of(of[kin + 1 :] if whose != of[kin] else [])


def phrase_of(tokens: list[str]) -> Phrase | None:
    """Return the noun phrase of some words; None if they name nothing."""
    named = (token for token in tokens if is_content(token) and token not in english_numbers())
    stems = [found for token in named if (found := stem(token))]
    if len(stems) > 1 and tokens[-1].lower() in _OF_A_KIND:
        stems.pop()
    return Phrase(stems[-1], frozenset(stems[:-1]), tokens[-1].endswith("s")) if stems else None


def begins_aside(text: str) -> bool:
    """Return whether words after a verb begin with a preposition, so that they are no object of it.

    >>> begins_aside("from Slack to Signal"), begins_aside("the flight to Oslo")
    (True, False)
    """
    return text.partition(" ")[0].lower() in _PREPOSITIONS


def phrases_of(text: str) -> list[Phrase]:
    """Return the noun phrases between prepositions and commas, and the kind of `a gym membership` as another one."""
    found: list[Phrase] = []
    current: list[str] = []
    for token in [*TOKEN.findall(text), ","]:
        if token[0].isalpha() and token.lower() not in _PREPOSITIONS | _AUXILIARIES and not _CODE.fullmatch(token):
            current.append(token)
            continue
        if (phrase := phrase_of(current)) is not None:
            found.append(phrase)
            if len(current) > 1 and current[-1].lower() in _OF_A_KIND and (kind := stem(current[-1])) != phrase.head:
                found.append(Phrase(kind, frozenset({phrase.head})))
        current = []
    return found
