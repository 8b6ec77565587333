"""`There`, where there is no doubt which place is meant: the only one that is named before it."""

import re

_WORD = r"[A-Z][\w&'-]*\w"
_PLACE = (
    rf"(?P<place>(?:the )?{_WORD}(?: (?:(?:of|de|da|la|del|am|upon) )?{_WORD})*(?:, {_WORD}(?=[.!?]*$))?)"
)
_REACHED = (
    r"(?:mov(?:e|es|ed|ing)|go|goes|going|went|gone|travel(?:s|l?ed|l?ing)?|fl(?:y|ies|ew|ying)|"
    r"dr(?:ive|ives|ove|iving)|return(?:s|ed|ing)?|relocat(?:e|es|ed|ing)|commut(?:e|es|ed|ing)|"
    r"back|trip|flight)"
)
_NAMED = re.compile(
    rf"\b(?:(?P<how>in|at)|{_REACHED} to|(?:is|are|was|were|comes?|came|am|'m|'s|originally|moved) from|"
    rf"visit(?:s|ed|ing)?) {_PLACE}"
)
_NO_PLACE = re.compile(
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b|(?:January|February|March|April|May|June|July|August|"
    r"September|October|November|December|Spring|Summer|Autumn|Winter|Christmas|Easter|Thanksgiving|I|English|"
    r"French|German|Spanish|Italian|Japanese|Chinese)\b|.*'s$"
)
_THERE = re.compile(
    rf"(?<=\w )(?:(?<=\b)(?P<going>{_REACHED}) )?(?P<there>there)\b(?=(?: (?:too|as|now|since|in|every|"
    r"again|until|because|and|but|last|this|next|with|when|before|after|often|sometimes|once|twice|already|"
    r"on)\b)|[.,;!]|$)"
)
_MENTIONED = re.compile(r"\bthere\b")
_ELSEWHERE = re.compile(
    r"\b(?:out|over|up|down|in|right|almost|nearly|halfway|not|hi|hey|hello|am|is|are|was|were|be|been|being|"
    r"'s|'m|'re|get|gets|got|getting|hang|from|that|if|so|and|but|or|because|while|here) $",
    re.IGNORECASE,
)
"""Before `there`: it is somewhere else, or nowhere."""
SHORT = 7
"""Words of a sentence that says too little without its place."""


def placed(sentence: str, before: str | None) -> tuple[str, str | None]:
    """The sentence with `there` named, and the place that the next one may mean by it, as it is said of it.

    >>> placed("Ada works in Oslo.", None)
    ('Ada works in Oslo.', 'in Oslo')
    >>> placed("She often goes there.", "in Oslo")
    ('She often goes to Oslo.', 'in Oslo')
    """
    there = _pointing(sentence)
    if there is not None:
        own = _places(sentence[: there.start()])
        where = _only(own) if own else before
        if where is not None:
            going = there["going"]
            said = f"{going} to {where.split(maxsplit=1)[1]}" if going else where
            sentence = f"{sentence[: there.start()]}{said}{sentence[there.end() :]}"
    named = _places(sentence)
    return sentence, _only(named) if named or not _MENTIONED.search(sentence) else before


def is_unplaced(fact: str) -> bool:
    """Whether a fact is mostly about a place that it does not name."""
    there = _pointing(fact)
    return there is not None and len(fact.split()) <= SHORT and not _places(fact[: there.start()])


def _pointing(sentence: str) -> re.Match[str] | None:
    if sentence.rstrip().endswith("?"):
        return None
    there = _THERE.search(sentence)
    return None if there is None or _ELSEWHERE.search(sentence[: there.start("there")]) else there


def _places(text: str) -> list[str]:
    """The places that a text names, as it is said of who is there."""
    return [
        f"{one['how'] or 'in'} {one['place'].rstrip('.')}"
        for one in _NAMED.finditer(text)
        if not _NO_PLACE.match(one["place"])
    ]


def _only(places: list[str]) -> str | None:
    return places[0] if len(set(places)) == 1 else None
