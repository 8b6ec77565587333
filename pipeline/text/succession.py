"""Succession of statements: whether a newer one may hold instead of an older one, by features of both. Pure.

For texts that no rule has understood. It looks at whom each is about and at how the newer one is said; English
only, and other languages are left to their meaning.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from pipeline.text.analyzer import detect_language, words
from pipeline.text.english_verbs import BASES, PASTS, is_gerund, is_past, word_set
from pipeline.text.statement_words import has_change_word, has_plan_word

CACHED_TEXTS = 1024
_SELF = "I"
_PART = re.compile(r"[,;.!?:]+ |\.\.+| - ")
_OPENING = re.compile(
    r"^(?:[A-Z][\w ]{0,30}: )?(?:(?:so|well|ok|okay|hey|btw|ugh|omg|yeah|oh|wait|actually|no|update|correction|"
    r"fyi|lol|oops|turns out|heads up|and|but|the other day|lately|finally|just|now|life update|small)\b[\s,:!.-]*)+",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"(?:i|we|user|i'?m|we'?re|i'?ve|we'?ve|i'?ll|i'?d)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w.&'\u2019-]+")
_DETERMINERS = frozenset({"my", "our", "the", "this", "a", "an", "user"})
_BOUNDS = word_set("in at on from of for with by about to and or but because as is are was were has have had will can")
_AFTER_IS = re.compile(r"(?:an?|the|in|on|at|not|now|just|also|back|going|been|my|our|\w+ing|\d.*)$")
_SELF_FIRST = frozenset({"not", "been", "haven't", "didn't", "don't", "can't", "back", "home", "out", "no", "new"})
"""First words after which `I` is left out."""
_MAX_SUBJECT_WORDS = 5
_MARKS = re.compile(
    r"\b(?:the|is|are|was|i|i'm|my|we|our|have|has|to|of|with|and|user|not|at|an?|from|me|\w{3,}ed|\w+s)\b",
    re.IGNORECASE,
)
_TO_SPEAKER = re.compile(r"\b(?:me|us)\b", re.IGNORECASE)
WISHED = (
    r"if|wish\w*|would|could|should|might|maybe|perhaps|someday|one day|imagine\w*|pretend\w*|"
    r"thinking (?:of|about)|hop(?:e|es|ing)|(?:wants?|plans?|applying) to|goal|average|dream\w*|apply"
)
"""Words of wishes, plans and conditions, as a pattern."""
_UNREAL = re.compile(rf"\b(?:{WISHED}|going to|i'd|translate)\b|\?\s*$", re.IGNORECASE)
PAST = re.compile(
    r"\b(?:used to|grew up|before that|back then|as an? (?:kid|child|student|teen\w*)|in (?:my|their) last|last job|"
    r"my last|(?<!year )(?<!years )(?<!their )(?<!\ban )(?:old|first|ex)\b(?!-)|years ago|in (?:19|20)\d\d|"
    r"back (?:in|at) (?:uni|college|school|the day)|(?:until|till|when) i was)\b",
    re.IGNORECASE,
)
PASSING = re.compile(
    r"\b(?:visit(?:s|ing|ed)?|rent(?:ed|al)|borrow(?:ed)?|skipped|tried|trying|tonight|on weekends|"
    r"this (?:morning|afternoon|evening|week|weekend|month)|for (?:a|the) (?:long )?(?:day|week|weekend|night)|"
    r"early|for fun|overnight|"
    r"on the (?:morning|evening|afternoon)|feel|feels|feeling|ran out|(?:was|were|is|are) (?:down|sold out))\b",
    re.IGNORECASE,
)
ADDED = re.compile(
    r"\b(?:too(?=$|[,;.!])|also|as well|either|even more|second|another|both|each)\b(?! hand)", re.IGNORECASE
)
"""What is said beside what holds already."""
_PRESENT = re.compile(r"\b(?:now|instead|from now on|these days|nowadays)\b", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(?:now|any ?more|no longer|instead|actually|moved|switched|changed|quit|stopped|left|sold(?! out)|bought|got|"
    r"gave up|turned|took|dumped|fired|hired|promoted|turns out|new|since|from now on|was wrong|finally|cancelled|"
    r"upgraded|finished|dropped|passed|died|broke up|split|relocated|pushed|postponed|rescheduled|lowered|raised|"
    r"canceled|called off|pulled out of|withdrew|"
    r"(?:had|have|has|decided|chose) to (?:cancel|stop|quit|sell|give up|drop|leave|move|change|switch|postpone))\b",
    re.IGNORECASE,
)
_OTHERS_THING = re.compile(
    r"\b(?:my|our|the|his|her|their) (?:other (?P<other>\w+)|(?P<owner>\w+?)(?:'s|s['\u2019]) "
    r"(?!(?:an?|the|in|on|at|not|now|just|also|back|been|gone|off|over|my|our|\w+ing|\w+ed)\b)[a-z])",
    re.IGNORECASE,
)
"""A thing of somebody else: "the neighbours' cat died" ends nothing that is said of one's own."""
_FROM = re.compile(
    r"\b(?:switch|mov|chang|go|went|gone|convert|migrat|transferr?)\w*(?: \w+){0,2} from "
    r"([\w.&+#' -]{1,40}?) (?:to|into|over to)\b",
    re.IGNORECASE,
)
"""What a change says that it ended: "we switched from REST to gRPC"."""


def may_succeed(newer: str, older: str) -> bool:
    """Return whether the newer statement may hold instead of the older; True where its language is not known.

    >>> may_succeed("we're in Antwerp since last weekend", "I live in Ghent")
    True
    >>> may_succeed("my parents live in Linz", "We live in Graz")
    False
    >>> may_succeed("I used to live in Brno", "I live in Ostrava")
    False
    >>> may_succeed("we switched from REST to gRPC", "Postgres is our only database")
    False
    """
    if not is_readable(newer, older):
        return True
    if not _are_about_the_same(newer, older) or _ends_something_else(newer, older):
        return False
    if ADDED.search(newer) and not ADDED.search(older):
        return False
    if (others := _OTHERS_THING.search(newer)) and not _mentions(older, others["owner"] or f"other {others['other']}"):
        return False
    if _CHANGE.search(newer):
        return not _UNREAL.search(newer) or _UNREAL.search(older) is not None
    return not any(pattern.search(newer) and not pattern.search(older) for pattern in (_UNREAL, PAST, PASSING))


def _ends_something_else(newer: str, older: str) -> bool:
    """Return whether the newer statement names what it replaces, and the older one has no word of that."""
    ended = _FROM.search(newer)
    return ended is not None and set(words(ended[1])).isdisjoint(words(older))


def is_readable(newer: str, older: str) -> bool:
    """Return whether the language of both statements is known, so that `may_succeed` tells something."""
    return _is_english(newer) and _is_english(older)


def tells_of_plan(text: str) -> bool:
    """Return whether a text speaks, in one of 22 languages, of a plan or a wish.

    >>> tells_of_plan("We might move to the coast one day"), tells_of_plan("Tal vez nos mudemos")
    (True, True)
    """
    return has_plan_word(text) or (_is_english(text) and _UNREAL.search(text) is not None)


def tells_of_change(text: str) -> bool:
    """Return whether a statement says, in one of 22 languages, that something has changed.

    >>> tells_of_change("Moved back to Omaha in the end"), tells_of_change("I live in Omaha")
    (True, False)
    >>> tells_of_change("Ich bin nach Wien gezogen."), tells_of_change("Me mudé a Viena.")
    (True, True)
    """
    return has_change_word(text) or (_is_english(text) and _CHANGE.search(text) is not None)


def _is_english(text: str) -> bool:
    return _MARKS.search(text) is not None and detect_language(words(text), text) == "english"


def _are_about_the_same(newer: str, older: str) -> bool:
    old = _subject(_PART.split(older, maxsplit=1)[0])
    new, *later = [subject for part in _PART.split(newer) if (subject := _subject(part))] or [""]
    if not new or not old or _fits(new, newer, old, older):
        return True
    if old == _SELF:
        return _SELF in later and _PRESENT.search(newer) is not None  # `coach changed the lineup, I'm the keeper now`
    return any(subject != _SELF and _fits(subject, newer, old, older) for subject in later)


def _fits(new: str, newer: str, old: str, older: str) -> bool:
    """Return whether what is said of one subject may end what was said of the other."""
    if new == old:
        return True
    if new == _SELF:
        return _mentions(newer, old)  # `they moved my appointment` after `my appointment is on Tuesday`
    if old == _SELF:
        # `Marlene dumped me` after `I'm dating Marlene`, `my doctor took me off it`
        return _mentions(older, new) or (_TO_SPEAKER.search(newer) is not None and _CHANGE.search(newer) is not None)
    if Counter(new.split()) <= Counter(old.split()):
        return True
    # `Rosa moved back to Peru` after `our nanny is Rosa`
    return _CHANGE.search(newer) is not None and re.search(rf"\b{re.escape(new.title())}\b", older) is not None


def _mentions(text: str, subject: str) -> bool:
    return re.search(rf"\b{re.escape(subject.rpartition(' ')[2])}\b", text, re.IGNORECASE) is not None


@lru_cache(maxsize=CACHED_TEXTS)
def _subject(text: str) -> str:
    """Return whom a statement is about: the speaker, a noun of the speaker's or a name; empty where it does not say."""
    body = _OPENING.sub("", text.strip())
    if _SPEAKER.match(body) and not re.match(r"user's\b", body, re.IGNORECASE):
        return _SELF
    word = body.partition(" ")[0].lower()
    if word in _SELF_FIRST or is_past(word) or (is_gerund(word) and len(word) > 5):
        return _SELF  # `got promoted today`
    named = " ".join(_subject_words(_WORD.findall(body)))
    return "" if named in _NOBODY else named


def _subject_words(found: list[str]) -> Iterator[str]:
    """Yield the words before the verb, owners without their `'s` and nouns without articles."""
    count = 0
    for word, following in pairwise([*found[: _MAX_SUBJECT_WORDS + 1], ""]):
        plain = word.lower().replace("\u2019", "'").strip(".'-")
        bare = plain.removesuffix("'s")
        if plain in _BOUNDS or (count and _is_verb(plain)):
            return
        if bare not in _DETERMINERS:
            count += 1
            yield bare
        if bare != plain and _AFTER_IS.match(following.lower()):
            return


def _is_verb(word: str) -> bool:
    return word in BASES or word in PASTS or is_past(word) or (word.endswith("s") and not word.endswith(("ss", "'s")))


_NOBODY = word_set("it someone somebody let's that this there he she they what who here everyone")
