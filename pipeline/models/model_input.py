"""Reduce a text to what is said in it, for a model of sentences: no labels, syntax, fields, signatures and capitals.

Models have read few texts with them, and their vectors move as far as by another subject: "user: " before a fact takes
an eighth of its cosine with a question that it answers, fields of a mail twice that.
"""

import re

from pipeline.text.email_threads import without_envelope

_ROLE = re.compile(r"^[ \t]*(?:user|human|assistant|ai|system)[ \t]*:[ \t]*", re.IGNORECASE | re.MULTILINE)
"""Labels of turns in a chat with an assistant, and of memories in other languages than English."""
_JSON_TURN = re.compile(r'[{\[,\s]*"role"\s*:\s*"\w+"\s*,\s*"content"\s*:\s*"|"\s*\}[\s\]]*(?=,|$)')
_SHOUTED_SHARE = 0.7
"""Share of capitals among the letters from which a text is read in small ones."""


def said_in(text: str) -> str:
    r"""Return what a passage or memory says; the text itself where that is nothing.

    >>> said_in("user: I live in Leeds.\nassistant: Noted!")
    'I live in Leeds.\nNoted!'
    >>> said_in("From: Al\nTo: Bo\n\nThe boat leaks.\n\nCheers,\nAl")
    'The boat leaks.'
    >>> said_in('[{"role": "user", "content": "I LIVE IN LEEDS."}]')
    'i live in leeds.'
    """
    said = _JSON_TURN.sub(" ", text) if '"role"' in text else text
    said = without_envelope(_ROLE.sub("", said)).strip()
    return lowered_if_shouted(said or text)


def lowered_if_shouted(text: str) -> str:
    """Return a text of several words in small letters where most of its letters are capitals.

    >>> lowered_if_shouted("WHERE DO I LIVE?"), lowered_if_shouted("HSR"), lowered_if_shouted("Is HSR a BDA layout?")
    ('where do i live?', 'HSR', 'Is HSR a BDA layout?')
    """
    capitals = sum(map(str.isupper, text))
    small = sum(map(str.islower, text))
    return text.lower() if capitals > _SHOUTED_SHARE * (capitals + small) and " " in text.strip() else text
