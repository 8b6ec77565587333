"""Parts of a message that its writer does not say: quotations, texts to work on, role play, forwarded mail. Pure."""

import re
from functools import cache

from pipeline.memory.languages.english import english_pattern
from pipeline.memory.languages.profiles import words_of_all

_TASK = english_pattern("tasks")
_GIVEN = (
    r"(?:here(?:'s| is| are)|this is|below is|following is|(?:i|we) (?:got|received|found)|\b\w+ "
    r"(?:wrote|texted|sent|said|emailed|posted)(?: me)?)[^\n:.!?]{0,60}\b(?:email|e-mail|mail|letter|text|essay|"
    r"article|paragraph|post|message|poem|lyrics|song|code|draft|bio|story|script|abstract|review|ad|listing|"
    r"config(?:uration)?|docker-?compose|compose file|ya?ml|json|dockerfile|schema|"
    r"transcript|excerpt|passage|character|sentence|statement|paper|reads?|quote|error|log|speech|wrote|said|sent|posted)"
)
_ASKED = (
    r"(?:^|(?<=[.!?:\n]))[ \t]*(?:[^\n:.!?]{0,60}\b(?:please|pls|(?:can|could|would|will) you|help me|"
    r"need you to|want you to)\b[^\n:.!?]{0,20}|(?:ok|okay|hey|hi|now|just|so|quickly)?,? ?)\b"
)
_HANDED_OVER = re.compile(
    r"(?!^[ \t]*(?:review|feedback|critique|edit|fix|answer)[ \t]*:[ \t]*\S)"
    rf"(?:{_ASKED}(?:{_TASK})\b[^\n:]{{0,120}}|{_GIVEN}[^\n:.!?]{{0,60}}|"
    r"^[ \t]*(?!(?:\w+ )?(?:voice|audio) )(?:\w+ ){0,2}(?:lyrics|poem|quote|excerpt|transcript|article|"
    r"essay|riddle|joke|limerick|haiku|song|verse|chorus|solve|homework|"
    r"character(?: sheet)?|(?:test|exercise|grammar|practice|example) (?:answer|sentence|"
    r"phrase|question)s?)(?: ideas?| drafts?)?[ \t]*):[ \t]*(?=[^\s\u2026]|\n)",
    re.IGNORECASE | re.MULTILINE,
)
_HANDED_OVER_ELSEWHERE = re.compile(
    r"(?:\b(?:übersetz|korrigier|tradu|corr[ie]g|vertaal|verbeter|przetłumacz|popraw|dialog|diálog|gedicht|po[eè]m|"
    r"перевед|исправ|çevir|düzelt|översätt)\w*|"
    r"翻訳|翻译|添削|번역)[^\n:\uff1a.?!]{0,60}(?::(?=\s)|:(?=[\u2e80-\u9fff])|\uff1a)",
    re.IGNORECASE,
)
"""The same in other languages: what to translate, to correct or to write."""
_TO_WORK_ON = re.compile(
    r"(?:^|(?<=[.!?\n] ))[ \t]*(?:\w+ ){0,2}"
    r"(?:(?:schreib|formulier|fass|schrijf|herschrijf|vat|riassum|scriv|résum|rédig|"
    r"écri[st]|reformul|resum|redact|escrib|reescrib|escrev|reescrev|napisz|streść|wymyśl|napiš|напиш|перескаж|придума|"
    r"skriv|sammanfatta|kirjoita|özetle|düzenle|inventa?|hausaufgabe|devoir|tarea|compit|lição|huiswerk|läxa|ödev|"
    r"zadanie|домашн)\w*|写|总结|润色|作业|宿題)[^\n:\uff1a.?!]{0,60}[:\uff1a]",
    re.IGNORECASE,
)
"""Orders to write, or homework, at the begin of a sentence, before a colon and what they are about."""
_OF_VERSES = re.compile(r"\b(?:lyrics?|verses?|chorus|bridge|poem|song|ballad)\b", re.IGNORECASE)
_VERSES = re.compile(r"(?:^[^\W\d_a-z][^\n:?!.]{8,70}(?<![.!?:;])$\n?){3,}", re.MULTILINE)
"""Lines that begin with a capital and have no stop, as those of a song do, where a text speaks of one."""
_CHAPTER = re.compile(
    r"\W*(?:chapter|kapitel|chapitre|cap[ií]tulo|capitolo|rozdział|hoofdstuk|bölüm|luku|kapitola) "
    r"(?:\d|[ivx]+\b)[^\n.]{0,60}\n|第.{1,3}章",
    re.IGNORECASE,
)
"""The beginning of a chapter, in which `I` is whom it tells of."""
_TASK_ALONE = re.compile(
    rf"{_ASKED}(?:{_TASK})\b[^\n]{{0,60}}\b(?:this|these|following|below|email|text|essay|paragraph|"
    rf"letter|article|code|message|for me)\b[^\n]{{0,60}}\n\s*\n",
    re.IGNORECASE | re.MULTILINE,
)
_FORWARDED = re.compile(
    r"^[ \t]*(?:-{2,} ?(?:forwarded message|original message|begin forwarded)[^\n]*|begin forwarded message:?[^\n]*|"
    r"(?:fwd?|weitergeleitet):[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_PRETENCE = rf"\b(?:{english_pattern('pretences')})\b"
_IN_ROLE = re.compile(_PRETENCE, re.IGNORECASE)
_ROLE_PLAY = re.compile(
    rf"{_PRETENCE}|\b(?:act (?:as|like)\b|imagine (?:that )?you(?:'re| are)|"
    r"you are (?:now )?(?:an?|the) [a-z]+ (?:who|that|named|called|in|from)|you play (?:the|a)|write (?:me )?(?:an?|"
    r"the|some) [^\n.!?]{0,80}?(?:(?:story|poem|song|dialogue|scene|monologue|script)(?! (?:for|to) (?:my|our)\b)|"
    r"(?:essay|letter|bio|email|speech|"
    r"post)(?= (?:from|by|as|in)\b))|first-person (?:story|narrat\w+|monologue)|say the following|repeat after me)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"^\"(?=\S)(?:[^\"\n]+\n){1,12}[^\"\n]*\S\"(?=[\s.,!?]*$)|\"[^\"\n]{8,2000}\"|\u201c[^\u201d]{8,4000}\u201d|\u00ab[^\u00bb]{8,4000}\u00bb|"
    r"\u201e[^\u201c\u201d]{8,4000}[\u201c\u201d]|[\u300c\u300e][^\u300d\u300f]{8,4000}[\u300d\u300f]|"
    r"(?<![\w])['\u2018](?=[A-Z\u00c0-\u017fa-z])[^'\u2018\n]*?(?:['\u2019]\w{1,2}\b[^'\u2019\n]*?)*['\u2019](?!\w)",
    re.MULTILINE,
)
_PROGRAM_OUTPUT = re.compile(
    r"^(?:Traceback \(most recent call last\):(?:\n[ \t][^\n]*)*(?:\n[\w.]+(?::[^\n]*)?$)?|"
    r"[\w.]*[a-z](?:Error|Exception|Warning)\b[^\n:]{0,40}: [^\n]*|[ \t]+at \S+ ?\([^\n]*:\d[^\n]*\)|"
    r"\$ [a-z][^\n]*(?:\n\w+: [^\n]*)*)",
    re.MULTILINE,
)
"""Stack traces, errors, and a command with what it printed."""
_TITLE = re.compile(r"(?:[A-Z0-9][\w'&:-]*|of|the|and|a|an|in|to|on|for|[\"'\u2018\u2019\u201c\u201d\s,])+$")
_NOT_LINE_END = re.compile(r"[^\n]")
MIN_QUOTED_WORDS = 3
MAX_TITLE_WORDS = 7


_HANDING_OVER = (_HANDED_OVER, _TASK_ALONE, _HANDED_OVER_ELSEWHERE, _TO_WORK_ON)


def blank_pasted(text: str) -> str:
    """Return the message with what it only shows replaced by spaces, so that offsets stay.

    >>> blank_pasted('I live in Rome. Translate this: I live in Oslo.').rstrip()
    'I live in Rome. Translate this:'
    """
    if _CHAPTER.match(text) is not None:
        return _NOT_LINE_END.sub(" ", text)
    text = _QUOTED.sub(_blank_quotation, _PROGRAM_OUTPUT.sub(_blank, text))
    if _OF_VERSES.search(text) is not None or words_of_all("verses").search(text) is not None:
        text = _VERSES.sub(_blank, text)
    ends = [match.end() for pattern in _HANDING_OVER if (match := pattern.search(text)) is not None]
    begun = (_FORWARDED, _ROLE_PLAY, *_made_up())
    ends += [match.start() for pattern in begun if (match := pattern.search(text)) is not None]
    if not ends:
        return text
    cut = min(ends)
    return text[:cut] + _NOT_LINE_END.sub(" ", text[cut:])


def _blank(match: re.Match[str]) -> str:
    return _NOT_LINE_END.sub(" ", match[0])


def begins_role_play(text: str) -> bool:
    """Return whether a message begins a game in which its writer is somebody else from then on."""
    return _IN_ROLE.search(text) is not None or words_of_all("pretences").search(text) is not None


def blank_end_of_role_play(text: str) -> str | None:
    """Return a message without the words at its beginning that end the game, `ok stop`; None if it does not end."""
    match = _OUT_OF_ROLE.match(text) or _out_of_role_elsewhere().match(text)
    return None if match is None else _NOT_LINE_END.sub(" ", match[0]) + text[match.end() :]


def _made_up() -> list[re.Pattern[str]]:
    """Return what begins role play or asks for a story in other languages."""
    return [words_of_all("pretences"), words_of_all("stories")]


@cache
def _out_of_role_elsewhere() -> re.Pattern[str]:
    return re.compile(rf"\W*(?:ok(?:ay)?\W+|haha\W+)?{words_of_all('ends_pretence').pattern}", re.IGNORECASE)


_OUT_OF_ROLE = re.compile(
    r"\W*(?:(?:ok(?:ay)?|alright|thanks|haha|lol)\b\W*)*(?:stop|enough|that'?s enough|"
    r"end (?:of )?(?:the )?(?:game|scene|role[ -]?play(?:ing)?|role|story)|"
    r"back to (?:reality|normal|real life)|out of character|let'?s stop)\b",
    re.IGNORECASE,
)


def _blank_quotation(match: re.Match[str]) -> str:
    inner = match[0][1:-1]
    words = inner.split()
    if (len(words) < MIN_QUOTED_WORDS and match[0][0] not in "\u300c\u300e") or (
        len(words) <= MAX_TITLE_WORDS and _TITLE.match(inner)
    ):
        return match[0]
    return "\u2026" + _NOT_LINE_END.sub(" ", match[0][1:])
