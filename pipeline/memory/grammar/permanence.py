"""Permanence of facts: identity as opposed to events."""

import re

from pipeline.memory.grammar.speaker_context import DEFAULT_SPEAKER
from pipeline.memory.languages.english import english_pattern

_NO_ROLE = rf"(?:{english_pattern('no_identities')})"
"""Phrases like an identity that state none: `is looking for`, `is on 3 December`."""
_STATIC = re.compile(
    r"\b(?:is|isn't|is not) (?:[A-Z]\w+, )?(?:an? |the |not )?(?:\w+ ){0,3}(?:years old|vegetarian|vegan|allergic|"
    r"married|single|divorced|engaged|from|born|based|left-handed|right-handed|fluent|called|named|intolerant|diabetic|"
    r"retired|unemployed|self-employed|widowed|bilingual|deaf|blind|colou?rblind|religious|"
    rf"(?!{_NO_ROLE}\b)\w*(?:er|or|ist|ian|ant|ent|nurse|chef|man|woman|dad|mom|mother|father|parent|"
    r"student|engineer|pilot|artist|coach))\b|\b(?:lives?|works?|speaks?|likes?|loves?|enjoys?|prefers?|hates?|"
    r"dislikes?|owns?|belongs?|studies|teaches|plays|collects|drives|never eats|doesn't (?:like|eat|drink|speak|live|"
    r"work|own|have|drive)|can't (?:eat|stand)|supports?)\b|\b(?:favou?rite|name is|blood (?:type|group)|shoe size|"
    r"birthday|e-?mail|phone|address|"
    r"hometown|nationality|native language|was born|grew up|(?:has|have) (?:an? |two |three |four |five |\d+ )?(?:\w+ "
    r"){0,2}(?:kids?|child|children|sons?|daughters?|brothers?|sisters?|siblings?|dogs?|cats?|pets?|twins|degree|"
    r"allergy|phd|wife|husband|partner|girlfriend|boyfriend))\b|"
    r"\b(?:day|week|month)s? old on\b|"
    r"^User is (?:(?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+)*|\d{1,2})$|\bis (?:an? )?(?:mum|dad|parent) of\b",
    re.IGNORECASE,
)
_RELATIVE = (
    r"(?:wife|husband|partner|girlfriend|boyfriend|mother|mom|mum|father|dad|brother|sister|son|daughter|"
    r"boss|dog|cat|name)"
)
_FAMILY = re.compile(rf"'s {_RELATIVE}(?:'s name)? is\b", re.IGNORECASE)
_DYNAMIC = re.compile(rf"\b(?:{english_pattern('words_of_the_moment')})\b", re.IGNORECASE)


def is_static(text: str) -> bool:
    """Return whether a fact is identity, preference, residence, work or family, not a plan or event."""
    about_person = (
        text.startswith(DEFAULT_SPEAKER) or re.match(r"[A-Z][\w.'-]+(?: [A-Z][\w.'-]+){0,2}\s", text) is not None
    )
    if not about_person or text.startswith(("The ", "A ", "An ", "We ", "Our ")) or _DYNAMIC.search(text):
        return False
    return _STATIC.search(text) is not None or _FAMILY.search(text) is not None
