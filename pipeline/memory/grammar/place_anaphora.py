"""Resolution of `there`, if exactly one place was named before."""

import re

_WORD = r"[A-Z][\w&'-]*\w"
_PLACE = rf"(?P<place>(?:the )?{_WORD}(?: (?:(?:of|de|da|la|del|am|upon) )?{_WORD})*(?:, {_WORD}(?=[.!?]*$))?)"
_REACHED = (
    r"(?:mov(?:e|es|ed|ing)|go|goes|going|went|gone|travel(?:s|l?ed|l?ing)?|fl(?:y|ies|ew|ying)|dr(?:ive|ives|ove|"
    r"iving)|return(?:s|ed|ing)?|relocat(?:e|es|ed|ing)|commut(?:e|es|ed|ing)|back|trip|flight)"
)
_NAMED = re.compile(
    rf"\b(?:(?P<how>in|at|near)|{_REACHED} to|(?:is|are|was|were|comes?|came|am|'m|'s|originally|moved) from|"
    rf"visit(?:s|ed|ing)?) {_PLACE}"
)
_NO_PLACE = re.compile(
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b|(?:January|February|March|April|May|June|July|August|September|"
    r"October|November|December|Spring|Summer|Autumn|Winter|Christmas|Easter|Thanksgiving|I|English|French|German|"
    r"Spanish|Italian|Japanese|Chinese)\b|.*'s$"
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
"""Words before `there` that make it another place or none."""


def resolve_there(sentence: str, previous_place: str | None) -> tuple[str, str | None]:
    """Replace `there` by the place; return also the place that the next sentence may mean.

    >>> resolve_there("Ada works in Oslo.", None)
    ('Ada works in Oslo.', 'in Oslo')
    >>> resolve_there("She often goes there.", "in Oslo")
    ('She often goes to Oslo.', 'in Oslo')
    """
    anaphor = _find_there(sentence)
    if anaphor is not None:
        own = _named_places(sentence[: anaphor.start()])
        place = _single_place(own) if own else previous_place
        if place is not None:
            going = anaphor["going"]
            replacement = f"{going} to {place.split(maxsplit=1)[1]}" if going else place
            sentence = f"{sentence[: anaphor.start()]}{replacement}{sentence[anaphor.end() :]}"
    named = _named_places(sentence)
    return sentence, _single_place(named) if named or not _MENTIONED.search(sentence) else previous_place


def _find_there(sentence: str) -> re.Match[str] | None:
    if sentence.rstrip().endswith("?"):
        return None
    match = _THERE.search(sentence)
    return None if match is None or _ELSEWHERE.search(sentence[: match.start("there")]) else match


def _named_places(text: str) -> list[str]:
    """Return the places of a text with their prepositions."""
    return [
        f"{match['how'] or 'in'} {match['place'].rstrip('.')}"
        for match in _NAMED.finditer(text)
        if not _NO_PLACE.match(match["place"])
    ]


def _single_place(places: list[str]) -> str | None:
    return places[0] if len(set(places)) == 1 else None
