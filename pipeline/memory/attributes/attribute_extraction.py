"""Extraction of a fact's attributes by every pattern that fits."""

import re
from collections import defaultdict
from dataclasses import replace
from functools import lru_cache

from pipeline.memory.attributes import entity_attributes, person_attributes, predicates, quantities
from pipeline.memory.attributes.attribute import Attribute
from pipeline.memory.attributes.attribute_patterns import AttributePattern, circumstances
from pipeline.memory.attributes.value_normalization import normalize_phrase
from pipeline.memory.outlines.readings import outlines
from pipeline.memory.outlines.vocabulary import stem
from pipeline.memory.outlines.wording import as_begun, is_planned
from pipeline.text.succession import ADDED, PASSING

MAX_FACT_CHARS = 240
"""Characters of a fact; a longer text states more than one thing."""
CACHED_TEXTS = 4096
"""Texts cached: each fact is analyzed when formed, compared and written."""
_WORDS = re.compile(r"[\w'-]+")
_ASIDE = re.compile(
    r", (?:not (?!because|that|to|only|just|even|so|if|when|until|yet|sure|really)|(?P<more>(?:right |just )?"
    r"(?:(?:close|next) to|not far|near|opposite|beside|outside|off|where|which) ))[^,]+$|,? instead of [^,]+$"
)
"""Additional detail of a value, or what it is not: `lives in Porto, close to the river`."""


_PATTERNS = (*person_attributes.PATTERNS, *entity_attributes.PATTERNS, *predicates.PATTERNS, *quantities.PATTERNS)


def _index_patterns() -> dict[str, tuple[int, ...]]:
    positions: defaultdict[str, list[int]] = defaultdict(list)
    for at, pattern in enumerate(_PATTERNS):
        for hint in pattern.trigger_words:
            positions[hint].append(at)
    return {hint: tuple(places) for hint, places in positions.items()}


_PATTERNS_BY_WORD = _index_patterns()


@lru_cache(maxsize=CACHED_TEXTS)
def extract_attributes(text: str) -> tuple[Attribute, ...]:
    """Return the attributes of a fact, each once; empty if ambiguous.

    >>> [(found.subject, found.name, found.value) for found in extract_attributes("User now lives in Paris")]
    [('user', 'residence', 'paris'), ('user', 'live', 'in paris')]
    """
    if len(text) > MAX_FACT_CHARS:
        return ()
    text = text.strip().rstrip(".!").replace("\u2019", "'")
    is_plan = is_planned(text)
    text = as_begun(text) if is_plan else text
    aside = _ASIDE.search(text)
    found = (
        _match_patterns(text, "")
        if aside is None
        else _match_patterns(text[: aside.start()], "" if aside["more"] is None else normalize_phrase(aside[0]))
    )
    if not is_plan:
        return found
    # What is to come ends nothing that holds today.
    is_alone = ADDED.search(text) is None and PASSING.search(text) is None
    return tuple(
        replace(
            attribute,
            is_planned=True,
            is_single_valued=attribute.is_single_valued and is_alone,
            is_explicit_change=attribute.is_explicit_change and is_alone,
        )
        for attribute in found
    )


@lru_cache(maxsize=CACHED_TEXTS)
def comparable_attributes(text: str) -> tuple[Attribute, ...]:
    """Return the attributes of a fact, and its statement under all that it is about.

    >>> [found.name for found in comparable_attributes("User has braces")]
    ['have', 'what is said of brace']
    """
    if len(text) > MAX_FACT_CHARS:
        return ()
    told: dict[tuple[str, str], bool] = {}
    for said in outlines(text):
        for holder, word in said.addresses:
            # What only names somebody may be ended by what is said of them, and ends nothing that others say of them.
            tells_of_change = said.tells_of_change and (holder != word or word == stem(said.holder))
            told[holder, word] = told.get((holder, word), False) or tells_of_change
    statements = (
        Attribute(
            holder,
            f"what is said of {word}",
            text,
            is_single_valued=False,
            value_kind="statement",
            is_explicit_change=tells_of_change,
        )
        for (holder, word), tells_of_change in sorted(told.items())
    )
    return (*extract_attributes(text), *statements)


def _match_patterns(text: str, qualifier: str) -> tuple[Attribute, ...]:
    """Return the attributes of a statement, with the additional detail of its values."""
    attributes: dict[tuple[str, str, str], Attribute] = {}
    for pattern in _candidate_patterns(text):
        match = pattern.pattern.match(text)
        for attribute in pattern.build(match) if match is not None else ():
            if match is not None and attribute is not None and attribute.value != attribute.subject:
                attributes.setdefault(
                    (*attribute.key, attribute.replaced_value or ""),
                    _with_detail(attribute, f"{circumstances(match)} {qualifier}".strip()),
                )
    return tuple(attributes.values())


def _with_detail(attribute: Attribute, detail: str) -> Attribute:
    """Add the circumstances, even if the pattern ignores them: without them the statement is another."""
    return (
        attribute
        if not detail or detail in attribute.detail
        else replace(attribute, detail=f"{attribute.detail} {detail}".strip())
    )


def _candidate_patterns(text: str) -> list[AttributePattern]:
    """Return the patterns with a hint in the text, in order."""
    places = {at for word in _WORDS.findall(text.casefold()) for at in _PATTERNS_BY_WORD.get(word, ())}
    return [_PATTERNS[at] for at in sorted(places)]
