"""`She lives in Rome and works at Acme`: whose the second verb is, where there is no doubt."""

import re
from collections.abc import Sequence

from pipeline.memory.verbs import ADVERBS, BASES, bare, is_finite, is_past, is_third, words

_SHORTEST, _LATEST = 3, 5
"""Words of a clause with a subject and a verb, and where its verb stands at the latest."""
_CLEAR = words(
    "works is has does was had lives owns teaches speaks enjoys prefers likes loves hates eats believes "
    "learns knows wants goes gets takes gives makes builds keeps collects writes reads sells buys earns "
    "belongs wears thinks says sings swims bakes spends saves joins avoids creates develops leads "
    "manages attends became went got took gave made built kept wrote sold bought began ran won"
)
"""Verbs that are hardly ever nouns; of the others one sees it by what follows."""
_LEADS_ON = words(
    "the a an his her their its my our this that these those some no one two three four five six seven "
    "eight nine ten every each many several him them it me us as at in on to for with from of about "
    "into by"
)
_FOLLOWS_NOUNS = words("at in on to for with from of about into by as that")
_PLAIN = ("I", "We")
"""Whose verb has its plain form."""
_LEADS_TO = words(
    "moved relocated emigrated returned graduated married divorced retired switched changed joined"
)
"""After which one says how things are since then: `I moved to Rome and work at Acme`."""
_AUXILIARIES = words("is are am was were has have had does do did will would can could")
_NO_SUBJECT = words(
    "it that this they he she these those there you who which what so if when while because although as "
    "since in on at with by for to from after before during and or but nobody everybody somebody"
)
_ASIDE = re.compile(r"[,;:()\u2013\u2014]|\b(?:who|which|that|whether|if|when|while|because|how|what)\b")
_CONTRACTED = re.compile(r"'(?:m|re|ve|ll|d)$")
_UNFINISHED = re.compile(
    r"\b(?:will|would|can|can't|do|don't|didn't|could|should|might|may|must|\w+ing|to(?! [A-Z]))\b"
)


def shared_subject(head: str, rest: str, *, listed: bool = False) -> str | None:
    """The subject of `head`, where the verb that begins `rest` can have no other; else None.

    `listed`: a comma stands between them, after which nouns are as likely.

    >>> shared_subject("Ann lives in Rome", "works at Acme")
    'Ann'
    >>> shared_subject("Ann likes hikes", "walks in Rome") is None
    True
    """
    spoken = spelled_out(head).split()
    begun = [word for word in rest.split() if word.lower() not in ADVERBS]
    at = _verb_of(spoken)
    if at is None or len(spoken) < _SHORTEST or len(begun) < 2 or _ASIDE.search(head):
        return None
    subject = " ".join(word for word in spoken[:at] if word.lower() not in ADVERBS)
    if _is_perfect(spoken, at):
        at += 1
    if not _is_subject(subject) or any(_is_verb(word) for word in spoken[at + 1 :]):
        return None
    first, second = spoken[at].lower(), begun[0].lower()
    if subject in _PLAIN and second in BASES and not is_past(second):
        doubtful = (
            (is_past(first) and first not in _LEADS_TO)
            or _UNFINISHED.search(head)
            or (listed and begun[1].lower() not in _LEADS_ON)
        )
        return None if doubtful else subject
    clear = (subject in _PLAIN and not listed) or _is_surely_a_verb(second, begun[1])
    return subject if clear and _agree(first, second) else None


def spelled_out(clause: str) -> str:
    """`I'm` and `I've` as the two words that they are.

    >>> spelled_out("I've moved")
    'I have moved'
    """
    return clause.replace("I'm ", "I am ", 1).replace("I've ", "I have ", 1)


def _verb_of(spoken: Sequence[str]) -> int | None:
    """Where the verb of a clause stands."""
    if spoken[0] in _PLAIN:
        return next((at for at, word in enumerate(spoken) if at and word.lower() not in ADVERBS), None)
    return next((at for at, word in enumerate(spoken[: _LATEST + 1]) if at and _is_verb(word)), None)


def _is_perfect(spoken: Sequence[str], at: int) -> bool:
    """`I have moved`, after which `I` may be left out."""
    return spoken[at] == "have" and len(spoken) > at + 1 and spoken[at + 1].lower() in _LEADS_TO


def _is_subject(text: str) -> bool:
    parts = text.lower().split()
    contracted = any(_CONTRACTED.search(part) for part in parts) or text.endswith("'s")
    return text[:1].isupper() and not contracted and not any(part in _NO_SUBJECT for part in parts)


def _agree(first: str, second: str) -> bool:
    """Whether both have the form of one subject and one time; not `was built and renovated`."""
    if is_third(first) and is_third(second):
        return True
    if not (is_past(first) and is_past(second)):
        return False
    return first not in _AUXILIARIES or second in _AUXILIARIES


def _is_surely_a_verb(word: str, following: str) -> bool:
    after = following.lower().strip(",.;")
    if word in _CLEAR:
        return True
    leads = after in _LEADS_ON or following[0].isdigit() or following[0].isupper()
    return leads and (is_past(word) or after not in _FOLLOWS_NOUNS)


def _is_verb(word: str) -> bool:
    return is_finite(bare(word))
