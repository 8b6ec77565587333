"""Phrases as values: folded, without what says nothing, and numbers as figures."""

import re

from pipeline.memory.verbs import words

LONGEST = 6
"""Words; what is longer is a description, not a value."""
LONGEST_CLAIM = 10
_NUMBERS = {
    name: str(number)
    for number, name in enumerate(
        (
            "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
            "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
            "twenty",
        )
    )
}  # fmt: skip
_SAME = {
    "colour": "color",
    "colours": "colors",
    "favourite": "favorite",
    "movie": "film",
    "movies": "films",
    "kids": "children",
    "kid": "child",
    "canceled": "cancelled",
    "e-mail": "email",
    "timezone": "time zone",
}
NEUTRAL = (
    "now|currently|these days|nowadays|anymore|any more|already|instead|too|as well|again|right now|"
    "at the moment|from now on|today|at present"
)
_TRAILING = re.compile(rf"(?:,? (?:{NEUTRAL}))+$")
_ARTICLE = re.compile(r"^(?:an?|the|my|their|our|his|her|its|some)\s+")
_SPACES = re.compile(r"\s+")
_VAGUE = re.compile(
    r"\b(?:and|or|but|because|which|who|that|when|where|while|if|although|not|so|very|really|too|good|great|to|"
    r"awesome|about|like|it|this|unknown|unclear|important|different|same|one of|between|usually|often|"
    r"sometimes|both|amazing|nice|something|anything|what|how|going|also|still|just|than|been|having)\b"
)
_CLAUSE = re.compile(
    r"\b(?:and|or|but|because|which|who|that|when|where|while|if|although|it|this|them|those|these|what|"
    r"how|something|anything|so|been|everything|nothing|one)\b"
)
_ARTICLES = re.compile(r" (?:an?|the|my|their|our|his|her|its|some)(?= )")
_ONE_OF_SEVERAL = re.compile(
    r"'s (?:[a-z-]+ )*?(?:son|daughter|child|kid|brother|sister|sibling|friend|colleague|coworker|co-worker|"
    r"cousin|uncle|aunt|niece|nephew|neighbor|neighbour|cat|dog|pet|grandmother|grandfather|grandma|grandpa|"
    r"student|client|customer|teammate|classmate|roommate|flatmate|grandchild|grandson|granddaughter|team|"
    r"group)$"
)
_OF_ITS_TEXT = words(
    "issue problem system file code function method class object value result results paper study book "
    "story film movie song item page document section chapter number question answer door window light room "
    "day week month man woman boy girl person patient customer client restaurant hotel author name thing "
    "way idea point case example test data model table figure report text message email call task step "
    "process program script command option setting field key image picture photo video link site "
    "dog cat baby child kid kids car house place city town country bus train plane trip game match"
)
"""What `the` means only within its text: another document's issue is another issue."""
_NOBODY = words(
    "the this that there it he she they we everyone everybody someone somebody nobody one people what which "
    "here if when today yesterday tomorrow so and but also another each every some any no all most many "
    "default current latest new old total initial main overall final first last other i you my your"
)


def plain(text: str) -> str:
    """Folded, without articles in front and words like `now` behind.

    >>> plain("The Golf now"), plain("two kids")
    ('golf', '2 children')
    """
    folded = _SPACES.sub(" ", text.casefold().replace("\u2019", "'")).strip(" .,!'\"*`")
    folded = _ARTICLE.sub("", _TRAILING.sub("", folded)).strip(" .,!'\"*`")
    return " ".join(_SAME.get(word, _NUMBERS.get(word, word)) for word in folded.split())


def without_now(text: str) -> str:
    """The text without what only says that it is so now.

    >>> without_now("User gets up at 7 now")
    'User gets up at 7'
    """
    return _TRAILING.sub("", text)


def as_value(text: str, longest: int = LONGEST) -> str | None:
    """A phrase that can be a value; None where it says too much or too little."""
    value = plain(text)
    return None if not value or len(value.split()) > longest or _VAGUE.search(value) else value


def as_subject(text: str) -> str | None:
    """Whose attribute it is; None for pronouns, and for a sister where there may be two."""
    subject = plain(text)
    if not subject or subject.split()[0] in _NOBODY or len(subject.split()) > LONGEST:
        return None
    if subject in _OF_ITS_TEXT or _ONE_OF_SEVERAL.search(subject):
        return None
    return None if _VAGUE.search(subject) else subject


def as_claim(text: str) -> str | None:
    """What somebody does or has, without articles; None where it goes on in another clause."""
    value = _ARTICLES.sub(" ", f" {plain(text)}").strip()
    return None if not value or len(value.split()) > LONGEST_CLAIM or _CLAUSE.search(value) else value
