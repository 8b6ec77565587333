"""Names that the parser takes for something else: unknown or ambiguous ones that open a sentence, and foreign ones."""

import re
from typing import TYPE_CHECKING

from pipeline.text.english_verbs import is_finite, is_gerund

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

STAND_IN = "Anna"
"""A name that the parser knows, in place of one that it does not."""
_NAME_KEY = "opening_name"
_WORD = r"[^\W\d_a-z][\w'\u2019-]*"
_OPENING = re.compile(
    rf"(?P<name>{_WORD}(?: {_WORD}){{0,2}})(?= (?:(?:also|now|still|just|recently) )?(?P<verb>[a-z]+)\b)"
)
_PARTICLES = r"(?:do|da|de|dos|das|del|della|delle|di|du|des|der|den|van|von|zu|la|las|los|el|al|ter|y|e)"
_FOREIGN_NAME = re.compile(
    rf"(?!(?:I|We|They|You|Who|What|Why|How|When|Where) ){_WORD}(?: {_PARTICLES}(?= )){{1,2}} {_WORD}"
    rf"(?:(?: {_PARTICLES}){{0,2}} {_WORD})*"
)
_IN_LAW = re.compile(r"\b(?:mother|father|sister|brother|daughter|son)s?-in-law\b", re.IGNORECASE)
_TIME_OF_DAY = re.compile(r"\b\d{1,2}(?:[:.]\d\d)? ?[ap]m\b", re.IGNORECASE)
_MODALS = frozenset({"will", "can", "must"})
_NO_NAMES = frozenset({"thanks", "today", "yesterday", "tomorrow"})


def single_words(text: str) -> list[tuple[int, int]]:
    """Return the spans that are one word of the sentence: names as `Cais do Sodré`, `mother-in-law`, and `7pm`."""
    return [match.span() for pattern in (_FOREIGN_NAME, _IN_LAW, _TIME_OF_DAY) for match in pattern.finditer(text)]


def reworded(doc: "Doc") -> str | None:
    """Return the sentence with a known name at its beginning if the parser found no subject there; else None."""
    match = _OPENING.match(doc.text)
    if match is None or match["name"].lower() in _NO_NAMES or STAND_IN in doc.text:
        return None
    if match["name"].endswith(("'s", "\u2019s")):
        return None  # `Noah's left hand is better`
    if doc[0].is_stop and doc[0].tag_ != "MD":
        return None
    if not is_finite(match["verb"]) and match["verb"] not in _MODALS:
        return None
    if (
        _has_subject_before(doc, match.end("name"))
        and doc[0].pos_ in ("PROPN", "NOUN", "PRON")
        and doc[0].dep_ != "csubj"
    ):
        return None
    return None if is_gerund(doc[0].lower_) else f"{STAND_IN}{doc.text[match.end('name') :]}"


def accept_rewording(doc: "Doc", reworded_doc: "Doc") -> bool:
    """Keep the name of the original if it is the subject of the reworded sentence; return whether it is."""
    first = reworded_doc[0]
    if first.dep_ not in ("nsubj", "nsubjpass") or first.head.tag_ not in _finite_tags(first.head):
        return False
    reworded_doc.user_data[_NAME_KEY] = doc.text[: len(doc.text) - len(reworded_doc.text) + len(STAND_IN)]
    return True


def restore_name(text: str, doc: "Doc") -> str:
    """Return a text made of the parsed sentence with the name that the stand-in replaced."""
    name = doc.user_data.get(_NAME_KEY)
    return text if name is None else re.sub(rf"\b{STAND_IN}\b", lambda _: str(name), text, count=1)


def _finite_tags(verb: "Token") -> frozenset[str]:
    is_supported = any(child.dep_ in ("aux", "auxpass") for child in verb.children)
    return frozenset({"VBZ", "VBD", "VB", "VBN", "VBG"} if is_supported else {"VBZ", "VBD"})


def _has_subject_before(doc: "Doc", end: int) -> bool:
    return any(
        token.dep_ in ("nsubj", "nsubjpass") and token.head.pos_ in ("VERB", "AUX") and token.head.idx >= end
        for token in doc
        if token.idx < end
    )
