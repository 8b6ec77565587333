"""The first person resolved: `I live in Berlin` said by Ann becomes `Ann lives in Berlin`."""

import re

from pipeline.memory.verbs import ADVERBS, BASES, is_past, third_person
from pipeline.memory.voice import WRITER

_WORD = re.compile(r"[^\W\d_][\w'-]*")
_BE_HAVE = (
    (re.compile(r"\bI'm\b|\bI am\b", re.IGNORECASE), "is"),
    (re.compile(r"\bI've\b", re.IGNORECASE), "has"),
    (re.compile(r"\bI'll\b", re.IGNORECASE), "will"),
    (re.compile(r"\bI'd (?=been\b|had\b|\w+ed\b)", re.IGNORECASE), "had "),
    (re.compile(r"\bI'd\b", re.IGNORECASE), "would"),
)
_I = re.compile(r"\bI\b")
_MY = re.compile(r"\bmy\b", re.IGNORECASE)
_ME = re.compile(r"\bme\b", re.IGNORECASE)
_MYSELF = re.compile(r"\bmyself\b", re.IGNORECASE)
_MINE = re.compile(r"\bmine\b", re.IGNORECASE)
_ME_AND = re.compile(r"^Me and (?P<who>(?:my |the )?\w+)", re.IGNORECASE)
_WE = re.compile(r"\bwe(?:(?P<verb>'ve|'re|'ll|'d)(?P<had>(?= (?:been|had|\w+ed)\b))?)?\b", re.IGNORECASE)
_WE_VERBS = {"'ve": " have", "'re": " are", "'ll": " will", "'d": " would"}
_OUR = re.compile(r"\b(?P<our>our)\b", re.IGNORECASE)
_OURS = re.compile(r"\bours\b", re.IGNORECASE)
_OURSELVES = re.compile(r"\bourselves\b", re.IGNORECASE)
_US = re.compile(r"\b(?:us|Us)\b")
_COORDINATED = re.compile(
    r"(?<=\s)(and|but|or)( (?:also |now |still |never |no longer |just |really )?)([a-z][\w'-]*)"
)
_NO_LONGER = re.compile(r"no longer\b", re.IGNORECASE)
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
    text = _ME_AND.sub(lambda match: f"{who} and {match['who']}", text)
    if speaker is not None:
        text = _plural(text, who)
    if not is_first_person(text):
        return text
    opening = re.match(r"I(?:'m|'ve|'ll| have| had)?\s+(?:\w+ly\s+)?([\w']+)", text)
    present = opening is not None and not (is_past(opening[1].lower()) or opening[1].endswith("ing"))
    for pattern, verb in _BE_HAVE:
        text = pattern.sub(f"{who} {verb}", text)
    text = _agreed(text, who)
    if present:
        text = _coordinated(text)
    return _possessive(text, who)


def _plural(text: str, who: str) -> str:
    """`we` of a speaker: the first time `Ann and others`, afterwards `they`."""
    named = re.match(r"(?:I|my)\b", text, re.IGNORECASE) is not None

    def we(match: re.Match[str]) -> str:
        nonlocal named
        subject = "they" if named else f"{who} and others"
        named = True
        verb = (
            " had"
            if match["verb"] == "'d" and match["had"] is not None
            else _WE_VERBS.get(match["verb"] or "", "")
        )
        return f"{subject}{verb}"

    if text[:3].lower() == "our":
        text, named = f"{who}'s{text[3:]}", True
    begins_with_we = text[:2].lower() == "we"
    text = _WE.sub(we, text)
    theirs = "their" if named or begins_with_we else f"{who}'s"
    text = _OUR.sub(theirs, text)
    text = _OURS.sub("theirs", text)
    text = _OURSELVES.sub("themselves", text)
    return _US.sub("them" if named else f"{who} and others", text)


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
        adverb = _NO_LONGER.match(text, match.start())
        if adverb is None and match[0].lower() not in ADVERBS:
            return match
        position = match.end() if adverb is None else adverb.end()
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
