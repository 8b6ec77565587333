"""Relevance of a fact to a profile on a day: it lasts, goes on, or is over."""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path

from pipeline.text.english_verbs import is_finite, is_past
from pipeline.text.statement_words import has_change_word, relative_in_subject, says_date
from pipeline.text.temporal_expressions import resolve_dates

MAX_CHANGE_AGE_DAYS = 60
"""Age relative to the newest fact beyond which a change or a state without a date is no longer going on."""
MAX_WISH_AGE_DAYS = 365
"""The same for what somebody wants or hopes to do."""
MAX_TRANSIENT_AGE_DAYS = 7
"""The same for moods, colds and what is said of a day."""
MIN_SUBJECT_SHARE = 0.25
"""Share of a namespace's facts from which a person is one of its subjects."""
_RULES_LOG_ODDS = 0.85
"""What the rules for English count beside a vector, as learned with its weights (`bench.lasting_statements`)."""
_FOREIGN_LOG_ODDS = -0.35
"""What a vector has to say at least where no rules count beside it, chosen on open histories: a key fact that is not
shown costs more than a line that is over."""
_VERB_DISTANCE = 9
"""Words within which the verb of a fact is looked for."""
_BIOGRAPHY = re.compile(
    r"\b(?:(?:has )?(?:moved|relocated) (?:(?:out|back|over|down|up) )?(?:in)?to|is (?:\w+ )?settled (?:in|at)|(?:has "
    r")?joined|(?:is taking|took) over|adopted|moved in with|turned \d+|"
    r"(?:was|were|got|has been) (?:born|promoted|diagnosed|raised)|"
    r"grew up|graduated|retired|(?:got|is|are|was) (?:recently |newly |now )?(?:married|engaged|divorced|widowed)|"
    r"married|divorced|died|founded|inherited|starts at(?= [A-Z])|started (?:at|with|as)(?= (?:an? |the )?\w)|"
    r"broke up with|separated from|has been an?|used to|(?:is|are) (?:starting (?:at|as|with)|"
    r"joining|moving (?:in(?:to| with)|to))|got (?:an?|the) (?:[\w-]+ "
    r"){0,2}(?:job|position|role|apprenticeship|internship|degree|licen[cs]e|house|flat|apartment|keys))\b"
)
"""Events that made somebody what they are."""
_ENDURING = re.compile(
    r" (?:is|are) \d{1,3}\b| is [A-Z][\w'-]+, \d{1,3}\b| is (?:an? |the )?(?:(?!late|ready|sick|out|off|short|full|"
    r"excited|nervous|sad)[a-z-]+ ){1,4}(?:of|at|for) |^User's (?:home|flat|apartment|house|address|car|school|team|"
    r"gym) is\b|\b(?:no longer|any ?more|never|doesn't|don't|can't|cannot|hasn't|stopped|(?:decided to )?quit|gave up|"
    r"is off|always|usually|every (?:day|week|month|morning|evening|night|other|[A-Z]\w+day)|on (?:[A-Z]\w+days)|daily|"
    r"weekly|twice a|once a|low-\w+ diet|(?:has|have) (?:an? |two |three |four |\d+ )?(?:\w+ )?(?:asthma|diabetes|"
    r"epilepsy|migraines?|condition|disease|allerg\w+|insomnia|adhd|tattoo|car|van|house|flat|shop|company|restaurant|"
    r"farm|garden|licen[cs]e))\b"
)
"""Habits, conditions, possessions and what somebody gave up."""
_UNTIL = re.compile(r"\b(?:until|till)\b")
_FOREIGN = re.compile(r"User: ")
"""A statement in another language."""
_OPEN_END = re.compile(r"\b(?:old on|since|born|birthday|anniversary|every|each|annual(?:ly)?|yearly|\w+days)\b")
_CHANGE = re.compile(
    r"\b(?:start(?:ed|s)|began|left|lost|passed|failed|broke up|split up|hired|fired|launched|opened|sold|signed|"
    r"enrolled|switched|became|bought an? |decided|won|published|applied|got an? |had (?:a|an|her|his|their) (?:baby|"
    r"son|daughter|surgery|operation)|had (?:their|the|an?) .{2,40} (?:done|fitted|removed|replaced|installed)|found|"
    r"(?:was|were|been) (?:given|sent|offered|moved|laid off)|moved|"
    r"cancelled|canceled|postponed|booked|scheduled|ordered|finished|completed)\b"
)
"""Events of which something goes on for a while."""
_PASSING = re.compile(r"\b(?:is|are) (?:currently )?\w+ing\b|\bfor (?:\w+ )?(?:days?|weeks?|months?)\b")
"""What somebody is doing, or has done for a short time."""
_TRANSIENT = re.compile(
    r"\b(?:tired|sick|busy|hungry|sleepy|bored|stressed|nervous|excited|happy|sad|ill|today|tonight|now reading|"
    r"marking|has a cold|stuck|late|waiting|for (?:\w+ )?(?:days?|weeks?))\b"
)
_LONG_WISH = re.compile(r"\b(?:wants|hopes|dreams|plans|intends) (?:to|of)\b")
_PREGNANT = re.compile(r"\bis (?:\w+ )?(?:pregnant|expecting)\b")
_PERFECT = re.compile(r"^[\w' ]{2,60}? (?:has|have) (?:just |already )?(?!need)\w+ed\b")
_WISH = frozenset(
    {"wants", "needs", "hopes", "plans", "intends", "starts", "begins", "leaves", "arrives", "flies", "travels"}
)
_AUXILIARIES = frozenset(
    {"is", "are", "has", "have", "was", "were", "had", "will", "would", "can", "does", "did", "'s"}
)
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATED = re.compile(
    rf"\d{{1,2}} {_MONTH}\b|\b{_MONTH} \d|"
    rf"\b(?:in|on|until|till|by|from|of|since|before|after|during|for|this|next|last|early|late|mid) {_MONTH}\b|"
    r"\b(?:summer|winter|spring|autumn|week|weekend) of\b|\b\d{4}-\d{2}-\d{2}\b"
)
_YEAR = re.compile(r"\b\d{4}\b")
_UNCLEAR = re.compile(
    r"^(?:It|This|That|These|Those|He|She|They|There|Here|We)\b|\?$|\bthe same (?:day|evening|night|week|time)\b"
)
_CAPITAL = f"[{''.join(chr(code) for code in range(0x41, 0x590) if chr(code).isupper())}]"
"""A capital letter of the Latin, Greek, Cyrillic or Armenian script."""
_NAME = re.compile(rf"{_CAPITAL}[\w-]+(?: {_CAPITAL}[\w-]+)*")
_INNER_NAME = re.compile(rf"(?<= )\(?({_CAPITAL}[\w'-]+)")
_THINGS = frozenset({"The", "A", "An", "This", "That", "My", "Our", "His", "Her", "Their"})


def lasting_file(embedder_name: str) -> Path:
    """Return where an embedder's weights lie, if they do; `python -m bench.lasting_statements` writes them."""
    return Path(__file__).parent / f"lasting_{embedder_name.replace(' ', '_')}.npy"


def is_lasting(text: str, *, is_static: bool, log_odds: float = 0.0) -> bool:
    """Return whether a fact belongs among those that last: identity, habits, conditions, possessions.

    `log_odds`: what the classifier of lasting statements says of its vector; 0: nothing.

    >>> is_lasting("User is 29", is_static=False), is_lasting("User has an exam on May 12", is_static=True)
    (True, False)
    """
    if _has_end(text):
        return False
    if log_odds and is_foreign(text):
        return log_odds > _FOREIGN_LOG_ODDS
    return log_odds + (_RULES_LOG_ODDS if _lasts_by_rules(text, is_static=is_static) else -_RULES_LOG_ODDS) > 0


def is_foreign(text: str) -> bool:
    """Return whether a fact is in the words of its speaker, in a language without rules."""
    return _FOREIGN.match(text) is not None


@lru_cache(maxsize=65_536)
def _has_end(text: str) -> bool:
    """Return whether a fact names the day on which it is over."""
    if _UNTIL.search(text) or is_foreign(text) or _BIOGRAPHY.search(text):
        return _UNTIL.search(text) is not None
    return _DATED.search(text) is not None and _OPEN_END.search(text) is None


@lru_cache(maxsize=65_536)
def _lasts_by_rules(text: str, *, is_static: bool) -> bool:
    if is_static or _BIOGRAPHY.search(text):
        return True
    if is_foreign(text):
        return relative_in_subject(text) != "" and not has_change_word(text)
    return _PASSING.search(text) is None and (_ENDURING.search(text) is not None or _is_habit(text))


@lru_cache(maxsize=16_384)
def is_current(
    text: str, stated_on: date, reference: date, today: date, max_age_days: int = MAX_CHANGE_AGE_DAYS
) -> bool:
    """Return whether a fact goes on: a plan that is not past, or a state or change that is not old.

    `reference`: the day of the newest fact, or today if that is earlier. `max_age_days`: of a change.

    >>> is_current("User's exam is on May 12", date(2026, 5, 1), date(2026, 5, 1), date(2026, 6, 1))
    False
    """
    ends = [span.last for span in resolve_dates(text, stated_on).date_ranges]
    age = (reference - stated_on).days
    if _is_past_tense(text):
        last = max(ends, default=stated_on)
        if last > stated_on:  # `signed up for the half marathon on 27 September`, said in May
            return last > today
        return _CHANGE.search(text) is not None and age <= max_age_days
    if ends and not _OPEN_END.search(text):
        # A day before the statement had its year guessed: `opens in March`, said in September.
        last = max(ends) + timedelta(days=6 if "the week of" in text else 0)
        if last >= stated_on or _YEAR.search(text):
            return last >= today
    elif _LONG_WISH.search(text) or _PREGNANT.search(text):
        return age <= MAX_WISH_AGE_DAYS
    if is_foreign(text) and has_change_word(text) and not says_date(text):
        return age <= max_age_days
    return age <= (MAX_TRANSIENT_AGE_DAYS if _TRANSIENT.search(text) else MAX_CHANGE_AGE_DAYS)


def is_planned(text: str, stated_on: date, today: date) -> bool:
    """Return whether a fact names a day to come."""
    return any(span.last >= today for span in resolve_dates(text, stated_on).date_ranges) and not _is_past_tense(text)


def is_clear(text: str) -> bool:
    """Return whether a fact says of whom it speaks, and something of them: not `Ana Diaz is Ana`."""
    subject, _, complement = text.partition(" is ")
    return _UNCLEAR.search(text) is None and (not complement or complement not in subject)


def subjects_of(texts: Iterable[str]) -> frozenset[str]:
    """Return whom most of these facts are about: the user, or the people of a chat; empty if nobody stands out.

    >>> sorted(subjects_of(["User is 29", "User's cat is Miso", "The outage was long"]))
    ['User']
    """
    counts = Counter(filter(None, map(leading_name, texts)))
    total = sum(counts.values())
    return frozenset(name for name, count in counts.items() if count >= MIN_SUBJECT_SHARE * total)


@lru_cache(maxsize=16_384)
def leading_name(text: str) -> str | None:
    """Return the name that a fact begins with; None if it begins with a thing."""
    match = _NAME.match(text)
    if match is None or match[0] in _THINGS or match[0].split()[0] in _THINGS:
        return None
    return match[0]


def names_in(text: str) -> frozenset[str]:
    """Return the capitalised words of a fact after the first one."""
    return frozenset(word.removesuffix("'s") for word in _INNER_NAME.findall(text))


def _is_habit(text: str) -> bool:
    """Return whether a fact tells in the simple present what somebody does."""
    verb = _finite_verb(text)
    return verb is not None and verb not in _WISH | _AUXILIARIES and not is_past(verb) and verb.endswith("s")


def _is_past_tense(text: str) -> bool:
    if _PERFECT.search(text):
        return True
    verb = _finite_verb(text)
    return verb is not None and (verb in ("was", "were", "had", "did") or (verb not in _AUXILIARIES and is_past(verb)))


def _finite_verb(text: str) -> str | None:
    words = (word.strip(",.;:!").lower() for word in text.split()[1:_VERB_DISTANCE])
    return next((word for word in words if word in _AUXILIARIES or is_finite(word)), None)
