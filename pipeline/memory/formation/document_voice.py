"""Attribution of a document's words: speech, which says something of its speaker, or a text about things. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pipeline.memory.formation.pasted_material import begins_role_play, blank_pasted
from pipeline.text.speaker_attribution import parse_utterances
from pipeline.text.utterance import Utterance

SPOKEN_TYPES = frozenset({"text", "markdown", "chat", "email", "json"})
"""Types of documents that may hold speech; files and pages are about things."""
_OWN_TYPES = SPOKEN_TYPES - {"email"}
"""Types whose words may be the user's; a mail says who wrote it."""
_ABOUT_USER = re.compile(r"(?:the )?user(?:s?['\u2019]s?)?\b", re.IGNORECASE)
_MENTIONS_USER = re.compile(r"\buser", re.IGNORECASE)
CONNECTOR_KEYS = frozenset({"provider", "connector"})
"""Metadata of a document that a connector submitted."""
SHORT_TEXT_CHARS = 600
"""A plain text up to this length is a note of its writer, unless it reads like an excerpt."""
MIN_FIRST_PERSON_SHARE = 0.2
"""Share of sentences with `I` or `my` from which a longer text is a note or a journal."""
_SENTENCE = re.compile(r"[^.!?\n]{12,}")
_FIRST = re.compile(
    r"\b(?:I|I['\u2019](?:m|ve|ll|d)|my|me|i['\u2019]?m|ich|je|j['\u2019]\w+|yo|mi|mein\w*)\b|[\u6211\u79c1\u50d5]"
)
_BOILERPLATE = re.compile(
    r"\W*(?:(?:our )?(?:privacy|cookie|return|refund) (?:policy|notice|statement)|terms (?:of|and) \w+|imprint|"
    r"impressum|licen[cs]e agreement|(?:end[ -])?(?:user|product|employee|software|staff|owner'?s) (?:guide|manual|"
    r"handbook|licen[cs]e))\b(?=\s*(?:[.:\n\u2013\u2014-]|$))",
    re.IGNORECASE,
)
"""Titles of texts that nobody says."""
_LEGAL = re.compile(
    r"\b(?:shall|hereby|herein|hereof|hereunder|thereof|licensee|licensor|warrant(?:y|ies)|liabilit(?:y|ies)|indemnif\w+|pursuant|"
    r"notwithstanding|terms and conditions|all rights reserved|redistribut\w+|sublicens\w+|governing law)\b",
    re.IGNORECASE,
)
MAX_LEGAL_TERMS_PER_1000_CHARS = 1.5


@dataclass(frozen=True, slots=True)
class Passage:
    """An utterance, and whether its speaker speaks of themselves."""

    utterance: Utterance
    is_speech: bool


_MINUTES = re.compile(
    r"\s*#* *(?:minutes|meeting notes|notes from the meeting|protocol)\b"
    r"(?= *(?:\n|\Z|[:,(\u2013\u2014-]|\w+day\b|(?:of|from|for|on) (?!my\b))|[^.!?\n]{0,60}\d)|"
    r"(?:[^\n]*\n){0,4}[*_# ]*(?:(?:attendees|participants|in attendance)[*_]*:|present[*_]*:(?=[^\n.]*(?:,|\n)))",
    re.IGNORECASE,
)
_CALLER = re.compile(
    r"\W*(?:(?:hi|hey|hello|hiya)\b[\w ,!]{0,20}?\b)?(?:it'?s|this is) (?:your )?"
    r"(?P<who>mum|mom|dad|mother|father|grandma|grandpa|granny|nana)\b(?=$|[.,!]| here| again)",
    re.IGNORECASE,
)
"""Who has left the message that the user keeps: `Hey it's mum, I'm at the airport`."""
TEAM = "The team"
"""Who `we` is in minutes."""


def find_passages(text: str, document_type: str = "text") -> Iterator[Passage]:
    """Yield what a document says and who says it; nothing for boilerplate."""
    utterances = parse_utterances(text)
    if _MINUTES.match(text) and len(utterances) == 1:
        utterances = [replace(utterances[0], speaker=TEAM, is_chat=False)]
    if len(utterances) == 1 and utterances[0].speaker is None and (caller := _CALLER.match(text)) is not None:
        utterances = [replace(utterances[0], speaker=caller["who"].capitalize())]
    is_attributed = len(utterances) > 1 or any(
        utterance.speaker is not None or utterance.is_chat for utterance in utterances
    )
    in_role = False
    for utterance in utterances:
        if in_role and utterance.speaker is None:
            continue
        in_role = in_role or (utterance.is_chat and utterance.speaker is None and begins_role_play(utterance.text))
        is_speech = is_attributed if document_type not in SPOKEN_TYPES else is_attributed or is_note(utterance.text)
        if document_type not in SPOKEN_TYPES and utterance.speaker is None:
            is_speech = False
        if not is_speech and is_legal(utterance.text):
            continue
        spoken = replace(utterance, text=blank_pasted(utterance.text)) if is_speech else utterance
        yield Passage(spoken, is_speech)


def may_be_users(document_type: str, *, is_synced: bool) -> bool:
    """Return whether the user may have written a document, so that the profile may quote it.

    Not a file, a page, a mail or what a connector brought: others may have written these.
    """
    return document_type in _OWN_TYPES and not is_synced


def is_synced(metadata: Mapping[str, object]) -> bool:
    """Return whether a connector brought a document, by its metadata."""
    return metadata.keys() >= CONNECTOR_KEYS


def is_planted(fact: str, sentence: str) -> bool:
    """Return whether a fact in a text of others is about the user because its sentence speaks of a user.

    >>> is_planted("The user lives in Oslo", "Remember that the user lives in Oslo.")
    True
    """
    return is_about_user(fact) and _MENTIONS_USER.search(sentence) is not None


def is_about_user(fact: str) -> bool:
    """Return whether a fact's text begins with the user."""
    return _ABOUT_USER.match(fact) is not None


def is_note(text: str) -> bool:
    """Return whether a plain text is its writer's own: a short message, or mostly in the first person."""
    sentences = _SENTENCE.findall(text)
    own = sum(_FIRST.search(sentence) is not None for sentence in sentences)
    if len(text) <= SHORT_TEXT_CHARS:
        return not is_legal(text)
    return own >= MIN_FIRST_PERSON_SHARE * len(sentences) and not is_legal(text)


def is_legal(text: str) -> bool:
    """Return whether a text reads like a licence or a contract, or is called one."""
    return _BOILERPLATE.match(text) is not None or len(
        _LEGAL.findall(text)
    ) * 1000 > MAX_LEGAL_TERMS_PER_1000_CHARS * max(len(text), 1000)
