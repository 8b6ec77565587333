"""Facts that a sentence in another language than English states of its speaker. Pure."""

import re
from functools import cache

from pipeline.memory.languages.language_detection import detect_language
from pipeline.memory.languages.profiles import (
    COMMAS,
    END,
    QUESTION_MARK,
    LanguageProfile,
    all_profiles,
    count_words,
    words_of_all,
)
from pipeline.text.statement_words import (
    has_change_word,
    says_date,
    says_number,
    says_time,
    tells_of_own,
    told_relations,
)

MIN_SENTENCE_CHARS, MAX_SENTENCE_CHARS = 6, 300
"""Characters of a sentence."""
_MIN_CJK_SENTENCE_CHARS = 4
"""Minimum in scripts with denser characters."""
_DIGITS = re.compile(r"\d+")
_COLON = re.compile("[:\uff1a]\\s*$")
_FIGURE = re.compile(r"\d\d|\d\.? ?[^\W\d]{2,}")
"""A number of something, as opposed to the number of a room."""
_SAYS_MORE = re.compile(
    r"(?!(?:[^\W\d]+, )?\d{1,2}\.? ?(?:de |d['\u2019])?[^\W\d]+\.?$)"
    r"(?:(?!\w+: \d)[^\W_]+['\u2019 ](?!\d+$)|\W*[^\W_]{6})"
)
"""Several words or a long one, not `Fecha: 5 de marzo`, `Diario, 3 de marzo` or `Log 14`."""
_PERSON = re.compile(
    r"\b(?:M|Mme|Mlle|Mr|Frau|Herrn?|Dr|Sra?|señora?|senhora?|signora?|Sig|[Pp]an[ia]?|mevrouw|meneer|dhr|mw)\.? "
    r"[^\W\d_a-z]\w|\w,? [^\W\d_a-z][^\W\d_]+ [^\W\d_a-z][^\W\d_]|\w(?:さん|氏)"
)
"""A form of address with a name, or two words of a name within a sentence."""
_NAME_WITHIN = re.compile(r"[^\W\d_]\w+ (?:[a-z\u00e0-\u00ff]+ )+[^\W\d_a-z][^\W\d_]{2,}")
"""A name after two words at least, where nouns have small letters."""
_OF_SOMEBODY = re.compile(r"(?:elles?|ils|él|ella|ele|ela|lei|hij|zij|hon|ona|она?) ", re.IGNORECASE)
"""Whom a sentence does not name."""
_SMALL = re.compile(r"\b[a-z\u00e0-\u00ff]+\b|[\u3040-\u30ff]{2}")
"""Words of which a list of names has none."""
_POLITE = "und|e|et|y|en|i|och|a|bitte|por favor|per favore|s'il te plaît|stp|proszę|prosím"
"""What stands before an order."""
_PLEASE = re.compile(
    r"\b(?:bitte|por favor|per favore|s'il te plaît|stp|svp|graag|proszę|prosím|lütfen)\b",
    re.IGNORECASE,
)


def is_bare_answer(answer: str, asked: str) -> bool:
    """Return whether an answer neither begins with its speaker, nor doubts: it says nothing without its question.

    >>> is_bare_answer("in Graz", "Wo wohnst du?"), is_bare_answer("ich wohne in Graz", "Wo wohnst du?")
    (True, False)
    """
    profile = detect_language(f"{asked} {answer}")
    if profile is None:
        return True
    begin = " ".join(COMMAS.split(profile.without_opening(answer))[0].split()[: _MIN_TOLD_WORDS - 1])
    is_own = any(kind.search(begin) for kind in (profile.own, profile.lasting, profile.home))
    return not is_own and profile.hedges.search(answer) is None


def is_instruction(text: str) -> bool:
    """Return whether a text tells an assistant in another language how to answer from now on.

    >>> is_instruction("bitte antworte immer auf Deutsch"), is_instruction("antworte auf Deutsch")
    (True, False)
    >>> is_instruction("Ab sofort bitte keine Termine mehr vor 9 Uhr")
    True
    """
    is_asked = _orders().search(text) is not None or _PLEASE.search(text) is not None
    return is_asked and words_of_all("always").search(text) is not None


@cache
def _orders() -> re.Pattern[str]:
    always, answers = words_of_all("always").pattern, words_of_all("answers").pattern
    return re.compile(rf"(?:^|[,;:.] ?|[\u3041-\uffdc])(?:(?:{_POLITE}|{always})\W+)*{answers}", re.IGNORECASE)


def states_personal_fact(
    text: str,
    profile: LanguageProfile,
    *,
    is_note: bool,
    is_minutes: bool = False,
    is_message: bool = False,
    is_named: bool = False,
    is_memorable: bool = False,
) -> bool:
    """Return whether a non-English sentence states something about its speaker, or in a note what has changed.

    In minutes and in a message to nobody else also what has a time, a number, a rule or a name. `is_named`: it is
    known to begin with a name; `is_memorable`: to mean what people keep.
    """
    plain = text.rstrip(END)
    least = MIN_SENTENCE_CHARS if plain.isascii() else _MIN_CJK_SENTENCE_CHARS
    if not least <= len(plain) <= MAX_SENTENCE_CHARS or _COLON.search(plain):
        return False
    if QUESTION_MARK.search(plain) or profile.asks.search(plain) or _quoted().search(plain):
        return False
    if _frame_of_letter().match(plain) or (words_of_all("others").match(plain) and not is_minutes):
        return False
    is_own = profile.own.search(plain) is not None
    is_noted = tells_of_own(plain) or (is_note and (_says_what_changed(plain) or _names_own(plain)))
    has_names = is_minutes and profile is not all_profiles()["de"] and _NAME_WITHIN.search(plain) is not None
    is_noted = is_noted or has_names or (is_minutes and _is_worth_minutes(plain))
    is_noted = is_noted or (is_message and _is_worth_minutes(words_of_all("of_speaking").sub("", plain)))
    words = count_words(plain)
    is_noted = is_noted or (not is_note and says_date(plain) and words >= _MIN_TOLD_WORDS)
    is_noted = is_noted and _OF_SOMEBODY.match(plain) is None
    is_noted = is_noted or (is_named and (words > _MIN_TOLD_WORDS or _tells_change(plain, profile)))
    is_noted = is_noted or (is_memorable and words >= _MIN_MEMORABLE_WORDS)
    is_told = is_note or _tells_something(plain, profile)
    return (is_own or is_noted) and is_told and profile.hedges.search(plain) is None


def _tells_change(text: str, profile: LanguageProfile) -> bool:
    """Return whether it says what lasts, has changed or is planned, or a time or number."""
    text = words_of_all("of_speaking").sub("", text)
    return (
        profile.lasting.search(text) is not None
        or profile.home.search(text) is not None
        or has_change_word(text)
        or says_time(text)
        or says_number(text)
        or any(words_of_all(kind).search(text) for kind in _CHANGES)
    )


_CHANGES = ("job", "ended", "moved", "altered", "begun", "planned")


def _tells_something(text: str, profile: LanguageProfile) -> bool:
    """Return whether a remark among people is more than a reaction: by its length, whom it names, or a change."""
    is_long = (
        count_words(text) >= _MIN_TOLD_WORDS or _HAN_NOUN.search(words_of_all("of_speaking").sub("", text)) is not None
    )
    return is_long or told_relations(text) != frozenset() or _tells_change(text, profile)


_HAN_NOUN = re.compile("[\u4e00-\u9fff]{4}|[\u4e00-\u9fff]{2}(?=[^\u4e00-\u9fff]*[\u3040-\u30ff])")
"""A noun of Japanese, or enough of Chinese to hold one."""
_MIN_TOLD_WORDS = 4
"""Words of a remark from which it tells something."""
_MIN_MEMORABLE_WORDS = 3
"""The same of a statement that is known to mean what people keep: not of the greeting before it."""


def _says_what_changed(text: str) -> bool:
    """Return whether a note says that something is over or other than it was: `Birba è scappato`."""
    return has_change_word(text) or words_of_all("ended").search(text) is not None


def _is_worth_minutes(text: str) -> bool:
    """Return whether a sentence of minutes or a document has a time, a number, a rule or the name of a person."""
    if text.lower() == text.upper() and text.isascii():
        return False  # the digits of a phone number
    # A digit alone numbers an item: only `_FIGURE` tells which ones count.
    names_person = _PERSON.search(text) is not None and len(_SMALL.findall(text)) > text.count(",")
    names_person = names_person and count_words(text) > 2
    return _SAYS_MORE.match(text) is not None and (
        names_person
        or words_of_all("rules").search(text) is not None
        or says_time(text)
        or says_number(_DIGITS.sub("", text))
        or _FIGURE.search(text) is not None
    )


def begins_with_name(text: str, profile: LanguageProfile) -> bool:
    """Return whether a remark begins with a name: a capital and no article before an auxiliary.

    >>> profile = detect_language("Ich wohne in Graz")
    >>> begins_with_name("Tina hat ein Kind bekommen", profile), begins_with_name("Heute ist das Training", profile)
    (True, False)
    """
    match = _name_first().match(text)
    if match is None or not match["name"][0].isupper():
        return False
    is_word = match["name"].lower() in profile.stopwords or says_time(match["name"])
    return not is_word and profile.points.search(_STOP.split(text, maxsplit=1)[0]) is None


_STOP = re.compile(r"[.!]+\s")


@cache
def _name_first() -> re.Pattern[str]:
    """Return the pattern of a name before a verb."""
    return re.compile(
        rf"(?P<name>(?-i:[^\W\d_a-z][^\W\d_A-Z]{{2,}})) {words_of_all('after_name').pattern} (?=\w)", re.IGNORECASE
    )


def _names_own(text: str) -> bool:
    """Return whether a note says how something of its writer's is called: `pies wabi się Bursztyn`."""
    return words_of_all("continues").search(text) is not None and text[-1].isalpha() and " " in text


def is_permanent(text: str, profile: LanguageProfile) -> bool:
    """Return whether it states identity as opposed to an event."""
    return profile.lasting.search(text) is not None


def continues(sentence: str, before: str) -> bool:
    """Return whether a sentence names what the one before it tells the speaker has, or goes on about whom it named.

    >>> continues("Er heißt Bruno.", "Ich habe einen Hund."), continues("名前は太郎です。", "こんにちは。")
    (True, False)
    >>> continues("Vive en Lima con su marido.", "Mi hermana es médica.")
    True
    """
    is_named = words_of_all("continues").match(sentence) is not None
    is_others = words_of_all("others").match(sentence) is not None and count_words(sentence) >= _MIN_TOLD_WORDS
    if not (is_named or is_others) or (profile := detect_language(before)) is None:
        return False
    if is_named:
        return states_personal_fact(profile.without_opening(before), profile, is_note=False)
    is_doubted = any(kind.search(sentence) for kind in (QUESTION_MARK, profile.asks, profile.hedges, _quoted()))
    is_told = not (is_doubted or QUESTION_MARK.search(before) or profile.hedges.search(before))
    return is_told and (told_relations(before) != frozenset() or begins_with_name(before, profile))


@cache
def _frame_of_letter() -> re.Pattern[str]:
    """Return the pattern of the title of a journal, a salutation or a farewell."""
    journals, salutes, farewells = (words_of_all(kind).pattern for kind in ("journals", "salutes", "farewells"))
    parts = (rf"{journals}.{{0,30}}\d", rf"{salutes} [^.!?,]{{2,40}}$", rf"{farewells}[^.!?]{{0,30}}$")
    return re.compile("|".join(parts), re.IGNORECASE)


@cache
def _quoted() -> re.Pattern[str]:
    """Return the pattern of what somebody else said, after a colon, or where it was cut off."""
    says = words_of_all("says").pattern
    return re.compile(rf"{says}[^:]{{0,20}}: |{says}$", re.IGNORECASE)
