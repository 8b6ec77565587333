"""English messages as they are parsed: what is left out, or said in a way that a parser misreads, in full. Pure."""

import re
from collections.abc import Callable
from functools import cache

from pipeline.memory.languages.english import (
    english_forms,
    english_pattern,
    english_rewrites,
    english_spelling,
    english_words,
)
from pipeline.memory.languages.language_detection import detect_language
from pipeline.text.english_nouns import HELPERS, RELATIVES, is_plural
from pipeline.text.english_verbs import BASES, is_gerund, is_past, is_third_person
from pipeline.text.temporal_expressions import DAYS

_Written = str | Callable[[re.Match[str]], str]
NUMBER = rf"(?:{english_pattern('numbers')})"


def rewritten(kind: str, text: str) -> str:
    """Return a text after each rewrite of a list, in their order.

    >>> rewritten("completions", "dinner with Marc on Saturday")
    'I have dinner with Marc on Saturday'
    """
    for pattern, written in _rewrites(kind):
        text = pattern.sub(written, text)
    return text


def respelled(text: str) -> str:
    """Return a message in common spelling.

    >>> respelled("im back since last fri, workin late")
    "I'm back since last Friday, working late"
    """
    folded = text.lower()
    for hint, pattern, written in _spelling():
        if hint in folded:
            text = pattern.sub(written, text)
    return text


@cache
def _rewrites(kind: str) -> list[tuple[re.Pattern[str], _Written]]:
    return [(pattern, _writer(said)) for pattern, said in english_rewrites(kind)]


@cache
def _spelling() -> list[tuple[str, re.Pattern[str], _Written]]:
    return [(hint, pattern, _writer(said)) for hint, pattern, said in english_spelling()]


def _writer(said: str) -> _Written:
    """Return the template, or behind @ the function, that writes for a pattern."""
    return _FUNCTIONS[said[1:]] if said.startswith("@") else said


def _is_or_owns(match: re.Match[str]) -> str:
    """Return ` is ` or ` has ` after a subject; after an object (`I love my mom's cooking`) it marks its owner."""
    if not _SUBJECT_BEFORE.search(match.string[: match.start()]):
        return match[0]
    return " has " if _AFTER_HAS.match(match.string[match.end() :]) else " is "


def _weekday(match: re.Match[str]) -> str:
    return f"{match[1]} {_WEEKDAYS[match[2][:3].lower()]}"


def _gerund(match: re.Match[str]) -> str:
    """Return `working` for `workin`, and `living` for `livin`."""
    stem = match[0].rstrip("'").lower().removesuffix("in")
    is_verb = any(base in BASES for base in (stem, f"{stem}e", stem[:-1] if stem[-1:] == stem[-2:-1] else ""))
    return f"{match[0].rstrip(chr(39))}g" if is_verb else match[0]


def _i_am(match: re.Match[str]) -> str:
    """Return `I'm` for `im`, which in German is `in the`."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    is_german = bool(before) and detect_language(before + after.lstrip()) is not None
    return match[0] if is_german else "I'm"


def _agreed(match: re.Match[str]) -> str:
    return f"I {match['did'].lower()}{match['whom']} that "


def _own_code(match: re.Match[str]) -> str:
    if not _BE.isdisjoint(match["what"].lower().split()):
        return match[0]
    return f"{match['whose'] or 'my '}{match['what'][:1].lower()}{match['what'][1:]} is {match['value']}"


def _done_to_me(match: re.Match[str]) -> str:
    """Return `I was offered the job` for `they offered me the job`."""
    who, is_one = ("I", True) if match["who"].lower() == "me" else ("we", False)
    verb, be = match["verb"].lower(), match["be"].lower().strip()
    if be in ("'re", "are"):
        helper = "'m being" if is_one else "'re being"
        verb = _done(verb) if is_gerund(verb) else ""
    else:
        helper = "'ve been" if be else " was" if is_one else " were"
        verb = _PARTICIPLE.get(verb, verb) if is_past(verb) or verb in _PARTICIPLE.values() else ""
    return match[0] if not verb or verb in _SAID_OR_FELT else f"{who}{helper} {match['when']}{verb}"


def _done(gerund: str) -> str:
    """Return the participle of a gerund: `sent` of `sending`, `moved` of `moving`."""
    stem = gerund.removesuffix("ing")
    return _OF_GERUND.get(stem, f"{stem}ed")


def _written_out(verb: str) -> str:
    return {"'s": " is", "'ll": " will"}.get(verb, verb)


def _and_it(match: re.Match[str]) -> str:
    """Name what `it` is, after a verb of change and the only thing of the speaker's before it."""
    is_changed = _CHANGING.search(match["act"]) is not None and len(_OWNERS.findall(match["act"])) == 1
    return f"{match['act']}, {match['what']}{_written_out(match['is'])}" if is_changed else match[0]


def _new_value(match: re.Match[str]) -> str:
    """Return `my phone number is now 555` for `new phone number, it's 555`."""
    if match["figure"] is not None:
        return f"my {match['measure']} is now {match['figure']}"
    return f"my {match['what']} is now {match['value']}{match['rest']}"


def _moved(match: re.Match[str]) -> str:
    is_figure = match["verb"].lower() in ("raised", "lowered", "increased", "cut", "renamed")
    verb = "are" if is_plural(match["what"].rpartition(" ")[2].lower()) else "is"
    return f"{match['what']} {verb} now {'' if is_figure else 'moved to '}{match['value']}"


def _named_next(match: re.Match[str]) -> str:
    before = match.string[: match.end("before")]
    if not _OWN_WORDS.search(before) or match["what"] in _SOURCES:
        return match[0]
    relative = _RELATIVES_OWN.match(before)
    owner = "the" if match["whose"] == "the" else "my" if relative is None else f"{relative['who']}'s"
    return f"{match['before']}, and {owner} {match['what']} is called "


def _recurring(match: re.Match[str]) -> str:
    words = match["what"].split()
    comes = len(words) > 1 and words[-2].lower() in _COMERS and is_third_person(words[-1])
    is_verb = comes or words[0] in BASES or is_past(words[0]) or is_gerund(words[-1])
    if not (match["each"] or match["many"]) or is_verb or not _NOT_NOUNS.isdisjoint(words):
        return match[0]
    return f"I have {match['what']} {match['each'] or 'on '}{match['day'].capitalize()}"


def _capitalized(match: re.Match[str]) -> str:
    return match[0].capitalize()


def _in_state(match: re.Match[str]) -> str:
    return f"I'm {match[0].lower()}"


_WEEKDAYS = {day[:3]: day.capitalize() for day in DAYS}
_SUBJECT_BEFORE = re.compile(
    r"(?:^|[,;:.] |\b(?:and|but|because|so|that|think|heard|know|guess|says?|said|since|while|when|if|now) )"
    r"(?:(?:my|our|the|his|her|their|your) )?(?!(?:I|we|you|my|our|the|his|her|their|your)\b)"
    r"[\w-]+(?: (?!(?:my|our|the|his|her|their|your)\b)[\w-]+)?$",
    re.IGNORECASE,
)
_AFTER_HAS = re.compile(english_pattern("after_has"))
_CHANGING = re.compile(rf"\b(?:{english_pattern('changing_verbs')})\b", re.IGNORECASE)
_OWNERS = re.compile(r"\b(?:my|our|the|his|her|their)\b", re.IGNORECASE)
_RELATIVES_OWN = re.compile(r"(?P<who>(?:my|our) [a-z]{3,}) (?:has|got|adopted|bought|owns)\b", re.IGNORECASE)
_SOURCES = english_words("sources_of_animals")
"""Where an animal or a person comes from, which is not who has the name that follows."""
_OWN_WORDS = re.compile(r"\b(?:I|we|my|our)\b", re.IGNORECASE)
_NOT_NOUNS = english_words("no_weekly_things")
_COMERS = HELPERS | RELATIVES
_BE = english_words("no_ends_of_things")
_SAID_OR_FELT = english_words("said_or_felt")
_OF_GERUND = english_forms("participles_of_stems")
_PARTICIPLE = english_forms("participles_of_pasts")
_FUNCTIONS = {
    function.__name__.removeprefix("_"): function
    for function in (
        _agreed, _capitalized, _own_code, _done_to_me, _and_it, _new_value, _moved,
        _named_next, _recurring, _in_state, _weekday, _gerund, _i_am,
        _is_or_owns,
    )
}  # fmt: skip
"""What writes for a pattern whose text is no template."""
