"""He and she, where there is no doubt who is meant: the subject of the sentence before, if it names "
"nobody else."""

import re

from pipeline.memory.verbs import is_verb

_RELATIVE = (
    "wife|husband|partner|girlfriend|boyfriend|fianc\u00e9e?|mother|mom|mum|father|dad|brother|sister|son|"
    "daughter|aunt|uncle|"
    "cousin|niece|nephew|grandmother|grandma|grandfather|grandpa|friend|best friend|boss|manager|colleague|"
    "coworker|neighbou?r|"
    "roommate|teacher|doctor|therapist|dog|cat|puppy|kitten|horse"
)
_MINE = re.compile(rf"(?P<who>My (?:\w+ )?(?:{_RELATIVE})(?:,? [A-Z][a-z]+)?),? (?P<rest>.+)$", re.DOTALL)
_NAMED = re.compile(r"(?P<who>[A-Z][a-z]+(?: [A-Z][a-z]+){0,2}) (?P<rest>(?P<verb>[a-z']+)\b.*)$", re.DOTALL)
_NO_NAMES = frozenset(
    [
        "The",
        "This",
        "That",
        "These",
        "Those",
        "It",
        "He",
        "She",
        "They",
        "We",
        "You",
        "There",
        "Here",
        "What",
        "When",
        "Where",
        "Who",
        "Why",
        "How",
        "If",
        "But",
        "And",
        "So",
        "Yes",
        "No",
        "My",
        "Our",
        "Your",
        "His",
        "Her",
        "Their",
        "Its",
        "In",
        "On",
        "At",
        "For",
        "From",
        "With",
        "After",
        "Before",
        "Since",
        "While",
        "Today",
        "Yesterday",
        "Everyone",
        "Nobody",
        "Somebody",
        "Someone",
        "One",
        "Some",
        "Many",
        "Most",
        "All",
        "Every",
        "Each",
        "Both",
        "Another",
        "Such",
        "Now",
        "Then",
        "However",
        "Although",
        "Because",
        "Please",
        "Thanks",
    ]
)
_SOMEBODY_ELSE = re.compile(
    rf"(?<![.!?] )\b[A-Z][a-z]+|"
    rf"\b(?:my|his|her|their|our|a|an|the|another) (?:\w+ )?(?:{_RELATIVE}|man|woman|guy|girl|boy|"
    rf"lady)s?\b|\b(?:him|who)\b"
)
_NOBODY = re.compile(
    r"\b(?:in|at|of|on|from|near|for|to)(?: the)?(?: [A-Z][\w&'-]*)+|"
    r"\b(?:two|three|four|five|six|\d+) (?:\w+ ){0,2}\w+(?:,| named| called)? "
    r"[A-Z]\w+(?:, [A-Z]\w+)*,? and [A-Z]\w+"
)
"""Names of places and of several together, whom he or she can't mean."""
_SHORT = {"'s": " is", "'ll": " will", "'d": " would"}
_HAS = re.compile(r"(?:always |never |already |just |recently )?(?:been|got|had|\w+ed)\b")
_TIME = (
    r"(?:[Ll]ast|[Tt]his|[Nn]ext|[Ee]very) \w+|[Yy]esterday|[Tt]oday|[Tt]omorrow|[Rr]ecently|[Nn]ow|"
    r"(?:[Ii]n|[Oo]n|[Ss]ince|[Uu]ntil|[Aa]t) [\w ]{2,24}|(?:\w+ ){1,2}(?:days?|weeks?|months?|years?) ago"
)
_PRONOUN = re.compile(
    rf"^(?P<time>(?:{_TIME}),? )?"
    rf"(?:(?P<subject>[Hh]e|[Ss]he)(?P<short>'s|'ll|'d)?|(?P<owner>[Hh]is|[Hh]er)) (?=\w)"
)


def antecedent(sentence: str) -> str | None:
    """Whom `she` in the next sentence means; None where it could be somebody else.

    >>> antecedent("My sister Ana works in Rome."), antecedent("Ana met Eva.")
    ('My sister Ana', None)
    """
    match = _MINE.match(sentence)
    if match is None:
        match = _NAMED.match(sentence)
        if match is None or match["who"].split()[0] in _NO_NAMES or not is_verb(match["verb"]):
            return None
    return None if _names_others(match["rest"]) else match["who"]


def begins_with_pronoun(sentence: str) -> bool:
    """Whether a sentence is about him or her."""
    return _PRONOUN.match(sentence) is not None


def named(sentence: str, who: str) -> str:
    """The sentence with the name in place of its first pronoun.

    >>> named("She's a nurse.", "Ana"), named("Her dog barks.", "Ana")
    ('Ana is a nurse.', "Ana's dog barks.")
    """

    def name(match: re.Match[str]) -> str:
        time = match["time"] or ""
        if match["owner"]:
            return f"{time}{who}'s "
        has = match["short"] == "'s" and _HAS.match(sentence[match.end() :])
        return f"{time}{who}{' has' if has else _SHORT.get(match['short'] or '', '')} "

    return _PRONOUN.sub(name, sentence)


def says_more(sentence: str) -> bool:
    """Whether, after a sentence about him or her, the next one may still be about the same."""
    match = _PRONOUN.match(sentence)
    return match is not None and not _names_others(sentence[match.end() :])


def _names_others(text: str) -> bool:
    return _SOMEBODY_ELSE.search(_NOBODY.sub("", text)) is not None
