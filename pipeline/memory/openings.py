"""What stands around a statement without being part of it: greetings, names that are called, asides."""

import re

from pipeline.memory.voice import Voice

_WORD = (
    r"hi|hey|hello|hiya|wow|whoa|yeah|yep|yes|yup|no|nope|nah|oh|ooh|ah|aww?|ok|okay|well|so|sure|sure "
    r"thing|thanks|thank you|"
    r"thx|cheers|cool|nice|great|awesome|amazing|sweet|haha|lol|omg|btw|by the way|anyway|actually|"
    r"honestly|also|and|but|plus|fyi|"
    r"for your information|absolutely|definitely|exactly|totally|for sure|sounds good|congrats|"
    r"congratulations|agreed|"
    r"please note that|note that|note:|remember that|just so you know|in fact|of course|right now|these days|"
    r"currently|recently|lately|unfortunately|luckily|thankfully|fortunately|sadly|yesterday's news|good "
    r"morning|"
    r"good evening|good question|no worries|no problem|guess what|check this out|check it out|speaking of "
    r"which|"
    r"on another note|in other news|to be honest|long story short|besides that|other than that|in the "
    r"meantime|"
    r"not much|same here|me too|you know what|you know|i mean|well then|all good|true|right|indeed|"
    r"rest assured|as for me|fun fact|apart from that|either way|(?:quick )?update:|correction:|news:|"
    r"reminder:|edit:|the other day|long time no see|long time no talk|good to (?:see|hear from) you|"
    r"nice to (?:see|hear from) you"
)
_OPENING = re.compile(
    rf"^(?:(?:{_WORD})(?: (?:so much|a lot|a bunch|a ton|again|there|all))?(?:[,!.:;\s-]+|$))+", re.IGNORECASE
)
_ALSO = re.compile(r"^(?:(?:so|also|and|but|plus|well|actually|then|anyway|oh|yeah|now),? +)+", re.IGNORECASE)
_ASIDE = re.compile(r"\s*\[[^\[\]]*\]\s*")
_EDGES = " \t*_\"\u201c\u201d'~\u2013\u2014-,;"
_SYMBOLS = re.compile(
    r"^[^\w(\[\"'$\u20ac\u00a3+#@]+|[^\w.!?)\]\"'%$\u20ac\u00a3\u3002\uff01\uff1f:\u2026]+$"
)
_TAIL = re.compile(
    r",? (?:thanks|thank you|though|tho|lol|haha|for sure|y'?know|you know|btw|by the way|as well|honestly|"
    r"ha)(?=[.!\u2026]*$)",
    re.IGNORECASE,
)
_CALLED_LAST = re.compile(r",\s*(?P<name>[A-Z][a-z]+)(?=[.!?\u2026]*$)")
_CALLED_FIRST = re.compile(r"^(?P<name>[A-Z][a-z]+)(?:, |! ?| (?=I\b|I'|my\b|we\b|we'))")
_SMALL_I = re.compile(r"i(?<![\w.'-]i)(?=$|[ ,!?]|'(?:m|ve|ll|d)\b)")
"""The letter first: that is what is looked for, and what stands before it only where it is."""
_ARTICLE = re.compile(r"(?:the|an?) ")
_SPOKEN = (
    (("wanna",), re.compile(r"\bwanna\b", re.IGNORECASE), "want to"),
    (("gonna",), re.compile(r"\bgonna\b", re.IGNORECASE), "going to"),
    (("gotta",), re.compile(r"\bgotta\b", re.IGNORECASE), "have to"),
    ((" by the way", " btw"), re.compile(r", (?:by the way|btw),(?= )| (?:by the way|btw)(?=,? )"), ""),
    (("til",), re.compile(r"(?<=\s)(?:'?til|till)\b"), "until"),
    (
        ("our last ", " we "),
        re.compile(
            r",? (?:since|after|from) (?:our last (?:chat|talk|conversation|catch-up)|we (?:last "
            r")?(?:talked|chatted|spoke)(?: last)?)\b,?"
        ),
        "",
    ),
)
_ROUNDS = 4


def plain(sentence: str, voice: Voice) -> str:
    """A sentence without what was said around it.

    >>> plain("Thanks, Ann! Yeah, I live in Rome, Ann.", Voice(names=frozenset({"Ann"})))
    'I live in Rome.'
    """
    text = _SMALL_I.sub("I", _SYMBOLS.sub("", sentence.strip(_EDGES)))
    if voice.chat:
        text = _TAIL.sub("", _ASIDE.sub(" ", text).strip())
        text = _without_call(text, voice, _CALLED_LAST)
        folded = text.lower() if text.isascii() else None
        for hints, pattern, written in _SPOKEN:
            if folded is None or any(hint in folded for hint in hints):
                text = pattern.sub(written, text)
    for _ in range(_ROUNDS):
        shorter = _OPENING.sub("", text)
        if voice.chat:
            shorter = _ALSO.sub("", _without_call(shorter, voice, _CALLED_FIRST))
        if shorter == text:
            break
        text = shorter
    text = text.strip(_EDGES)
    return text[:1].upper() + text[1:] if _ARTICLE.match(text) else text


def _without_call(text: str, voice: Voice, where: re.Pattern[str]) -> str:
    """`, Mel` of whoever is called: the beginning of a name of the conversation."""

    def called(match: re.Match[str]) -> str:
        name = match["name"]
        return "" if any(known.startswith(name) for known in voice.names) else match[0]

    return where.sub(called, text)
