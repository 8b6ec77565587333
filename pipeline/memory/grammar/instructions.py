"""Instructions of the user for every answer: `Please always answer in bullet points`. Pure."""

import re

from pipeline.memory.languages.english import english_pattern

_END = " ,;\u2013-\u2014.!?\u2026\"\u201d'\u3002\uff01"
_TITLE = r"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?"
_ANSWERING = english_pattern("orders_of_answers")
_CONTACTING = "call|text|email|message|contact|suggest|recommend|mention|schedule|book"
_WORKING = english_pattern("orders_of_work")
"""What an assistant does and few people say of their own days: `always run the tests`."""
_POLITELY = r"(?:please |pls )?(?:can|could|would|will) you "
_BEGIN = rf"^(?:{_POLITELY}(?:please |pls )?)?(?:please |from now on,? |in (?:the )?future,? |going forward,? )*"
_NAMED = re.compile(
    rf"{_BEGIN}(?:always |just |you can |don't call me \w+,? (?:it'?s|but|call me) )*"
    rf"(?:call me |(?<=it's )|(?<=its ))(?P<name>{_TITLE}(?-i:[A-Z])\w+|(?<=now on call me )\w+)"
    r"(?:(?:,? and)?,? (?:not|never) \w+|, [^,]{3,40})?$",
    re.IGNORECASE,
)
_WANTED = re.compile(
    rf"{_BEGIN}(?P<order>avoid .*|(?:never|always|don't ever) (?:{_CONTACTING}|{_WORKING})\b.*|(?:don't|do not) "
    r"(?:suggest|recommend|mention)\b.*|(?:(?:always|never|only|just|don't|do not|stop|avoid|no need to) )*"
    rf"(?:{_ANSWERING})\b.*)$",
    re.IGNORECASE,
)
_LASTING = re.compile(
    r"\b(?:always|never|from now on|in (?:the )?future|going forward|don't|do not|(?<!to )(?:stop|avoid)|every|only)\b",
    re.IGNORECASE,
)
_MANNER = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|responses?|explanations?|formatting|sources|links|units|metric|grams|emojis?|"
    r"bullet points|step by step|(?:in|to) (?:simple|plain|british|american|[A-Z][a-z]+(?:ish|an|ch|ese|ic)))\b"
)
"""What concerns every answer: its form, its language."""
_OF_ANSWERS = re.compile(r"(?:please|from now on|answer|reply|respond|use|keep|switch)\b", re.IGNORECASE)
"""Beginnings with which a manner is for every answer: `write a poem in Spanish` is a task of the moment."""
_ASKED_POLITELY = re.compile(f"^{_POLITELY}", re.IGNORECASE)
_SINGLE = re.compile(r"\b(?:an? (?:reply|answer|poem|response)|\d+)\b", re.IGNORECASE)
_OWN_CLAUSE = re.compile(r"\b(?:I|we)\b[^.;:!]*$", re.IGNORECASE)
_REQUEST = re.compile(r"\b(?:please|from now on|(?:the )?future)\b", re.IGNORECASE)
_ASKING = re.compile(
    r"(?:^|[,;:.!\u2013\u2014-] ?|\b(?:but|and|so) )"
    r"(?=(?:please|from now on|always|never|don't|do not|avoid|in (?:the )?future)\b)",
    re.IGNORECASE,
)
"""Begin of an instruction within a sentence."""
_REASON = re.compile(r"(?:,| because\b| since\b| as(?= I\b))[^,]*\b(?:I|I'm|it's|that's)\b.*$")
_OWN_REASON = re.compile(
    r"(?:, |\b(?:because|since|as) )(?P<own>(?:I'm|I've|my|(?<=[se] )[A-Z]\w+ (?:has|is|can't|doesn't|won't)) \S.*)$"
)
_POLITE = re.compile(r",? please$", re.IGNORECASE)
_AGAIN = re.compile(r"(?:(?<=\w),? and|\b(?:always|never)) (?:keep|make|put|write) it\b", re.IGNORECASE)
"""A wish about all answers, or a second one about the same: `answer in German, and keep it short`."""
_TO_REMEMBER = re.compile(
    rf"^(?:{_POLITELY})?(?:please |pls )?(?:remember|note|save|keep in mind|don't forget|remind me(?= that\b)) (?:that "
    r")?(?P<what>(?:I|I'm|my|we|our)\b[^?]+)\?*$",
    re.IGNORECASE,
)
_TASK = re.compile(r"\b(?:this|that|these|those|it|below|following|above|here)\b", re.IGNORECASE)


def to_be_remembered(sentence: str) -> str:
    """Return what the user asks to be remembered, or the sentence itself.

    >>> to_be_remembered("Can you remember that I park in bay 27?")
    'I park in bay 27'
    """
    match = _TO_REMEMBER.match(sentence)
    return sentence if match is None else match["what"]


def find_instruction(text: str) -> str | None:
    """Return what the user wants of every answer, as a statement; None for a task of the moment.

    >>> find_instruction("Please always answer in bullet points")
    'User asks: always answer in bullet points'
    """
    text = text.strip(_END)
    if (named := _NAMED.match(text)) is not None:
        return f"User wants to be called {named['name']}"
    match = _WANTED.match(text)
    if match is None or _TASK.search(_AGAIN.sub("", _REASON.sub("", text))) or len(text.split()) < 3:
        return None
    if not (_LASTING.search(text) or _is_manner(text)):
        return None
    order = _POLITE.sub("", _REASON.sub("", match["order"]))
    return f"User asks: {order[:1].lower()}{order[1:]}"


def _is_manner(text: str) -> bool:
    return (
        _OF_ANSWERS.match(_ASKED_POLITELY.sub("", text)) is not None
        and _MANNER.search(text) is not None
        and not _SINGLE.search(text)
    )


def _is_own_habit(before: str, order: str) -> bool:
    """Return whether `always use the metro` goes on with what the user says of themselves."""
    return _OWN_CLAUSE.search(before) is not None and not (_REQUEST.search(order) or _MANNER.search(order))


def split_instruction(text: str) -> tuple[str, str | None]:
    """Split an instruction off a sentence.

    >>> split_instruction("I write in Dutch but please answer in English")
    ('I write in Dutch', 'User asks: answer in English')
    """
    if (whole := find_instruction(text)) is not None:
        reason = _OWN_REASON.search(text)
        return "" if reason is None else reason["own"], whole
    for match in _ASKING.finditer(text):
        asked = find_instruction(text[match.end() :])
        if asked is not None and not _is_own_habit(text[: match.start()], text[match.end() :]):
            return text[: match.start()].rstrip(" ,;:"), asked
    return text, None
