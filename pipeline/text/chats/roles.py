"""Roles in a chat with an assistant: who writes, and what answers."""

import re

from pipeline.text.english_verbs import word_set

WRITERS = word_set(
    "user human me customer client guest visitor you utilisateur nutzer benutzer usuario usuário utente gebruiker "
    "użytkownik uživatel ユーザー 用户 ich moi yo kunde kundin cliente klant"
)
MACHINES = word_set(
    "assistant ai bot system tool chatgpt gpt claude gemini copilot model developer function agent support "
    "representative operator assistent asistente assistente アシスタント 助手"
)
FIRST_PERSON_WORDS = (
    r"I|I['\u2019]\w+|me|my|we|our|ich|mein\w{0,2}|wir|je|j['\u2019]\w+|mon|ma|mes|nous|yo|mi|mis|soy|vivo|tengo"
)
UNSPACED_FIRST_PERSON = r"[\u3040-\u30ff我]"
FIRST_PERSON = re.compile(rf"\b(?:{FIRST_PERSON_WORDS}|us)\b|{UNSPACED_FIRST_PERSON}", re.IGNORECASE)
_PRONOUNS = word_set("me ich moi yo")
ROLE_PATTERN = "|".join(sorted((WRITERS | MACHINES) - _PRONOUNS, key=len, reverse=True))
"""A role where it stands alone, as in `<user>` or `### Assistant`."""
_BOT_NAME = re.compile(r"(?:[a-z\d]Bot|[-_ ][Bb]ot|GPT)$")


def is_writer(name: str) -> bool:
    """Return whether a name is the role of the person who writes to an assistant."""
    return name.casefold() in WRITERS


def is_machine(name: str) -> bool:
    """Return whether an assistant speaks, or somebody in its place.

    >>> is_machine("Agent Kelly"), is_machine("HelperBot"), is_machine("Talbot")
    (True, True, False)
    """
    return name.casefold().split()[0] in MACHINES or _BOT_NAME.search(name) is not None
