"""The first person resolved: `I live in Berlin` said by Ann becomes `Ann lives in Berlin`."""

import re

from pipeline.memory.verbs import ADVERBS, BASES, is_past, third_person

WRITER = "User"
"""How the unknown writer of a document is called."""

_WORD = re.compile(r"[^\W\d_][\w'-]*")
_BE_HAVE = (
    (re.compile(r"\bI'm\b|\bI am\b", re.IGNORECASE), "is"),
    (re.compile(r"\bI've\b", re.IGNORECASE), "has"),
    (re.compile(r"\bI'll\b", re.IGNORECASE), "will"),
    (re.compile(r"\bI'd (?=been\b|had\b)", re.IGNORECASE), "had "),
)
_I = re.compile(r"\bI\b")
_MY = re.compile(r"\bmy\b", re.IGNORECASE)
_ME = re.compile(r"\bme\b", re.IGNORECASE)
_MYSELF = re.compile(r"\bmyself\b", re.IGNORECASE)
_MINE = re.compile(r"\bmine\b", re.IGNORECASE)
_WE = re.compile(r"^(?:We|Me and \w+)(?P<verb>'ve|'re|'ll)?\b")
_WE_VERBS = {"'ve": " have", "'re": " are", "'ll": " will"}
_OUR = re.compile(r"\bour\b", re.IGNORECASE)
_COORDINATED = re.compile(r"(?<=\s)(and|but|or)( (?:also |now |still |never |just |really )?)([a-z][\w'-]*)")
_FIRST = re.compile(r"\b(?:I|I'\w+|my|me|myself|mine)\b", re.IGNORECASE)


def is_first_person(text: str) -> bool:
    """Whether the sentence speaks of the one who says it."""
    return _FIRST.search(text) is not None


def resolved(text: str, speaker: str | None) -> str:
    """The sentence in the third person about its speaker.

    >>> resolved("I'm a nurse and I love my dog.", None)
    'User is a nurse and User loves their dog.'
    """
    who = speaker or WRITER
    if speaker is not None:
        text = _WE.sub(lambda match: f"{who} and others{_WE_VERBS.get(match['verb'], '')}", text)
        text = _OUR.sub("their", text)
    if not is_first_person(text):
        return text
    begins_with_i = bool(re.match(r"I\b", text))
    for pattern, verb in _BE_HAVE:
        text = pattern.sub(f"{who} {verb}", text)
    text = _agreed(text, who)
    if begins_with_i:
        text = _coordinated(text)
    return _possessive(text, who)


def _agreed(text: str, who: str) -> str:
    parts: list[str] = []
    position = 0
    for match in _I.finditer(text):
        parts += [text[position : match.start()], who]
        position = match.end()
        verb = _verb_after(text, position)
        if verb is not None:
            parts += [text[position : verb.start()], third_person(verb[0])]
            position = verb.end()
    return "".join(parts) + text[position:]


def _verb_after(text: str, position: int) -> re.Match[str] | None:
    """The word that is the verb of the `I` that ends at `position`, past its adverbs."""
    while (match := _WORD.search(text, position)) is not None:
        if text[position : match.start()].strip():
            return None
        if match[0].lower() not in ADVERBS:
            return match
        position = match.end()
    return None


def _coordinated(text: str) -> str:
    """`lives in Berlin and work at Acme`: the second verb agrees too."""

    def agree(match: re.Match[str]) -> str:
        verb = match[3]
        plain = verb in BASES and not is_past(verb)
        before = text[: match.start()].rsplit(" ", 2)
        infinitive = " to " in text[: match.start()] or (before and before[-1].endswith("ing"))
        return f"{match[1]}{match[2]}{third_person(verb)}" if plain and not infinitive else match[0]

    return _COORDINATED.sub(agree, text)


def _possessive(text: str, who: str) -> str:
    subject = text.startswith(who) and not text.startswith(f"{who}'s")
    text = re.sub(r"^[Mm]y\b", f"{who}'s", text)
    text = _MYSELF.sub("themselves", text)
    text = _MINE.sub("theirs", text)
    text = _MY.sub("their" if subject or text.startswith(f"{who}'s") else f"{who}'s", text)
    return _ME.sub("them" if subject else who, text)
