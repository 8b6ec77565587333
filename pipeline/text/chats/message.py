"""A message of a chat, and the utterances of a chat's messages."""

from collections.abc import Iterable, Iterator
from datetime import date
from typing import NamedTuple

from pipeline.text.chats.roles import is_machine, is_writer
from pipeline.text.utterance import Utterance


class Message(NamedTuple):
    """Speaker and text, its offset in the document if it is there as it is, and its day if that is told."""

    who: str
    said: str
    start: int | None
    on: date | None = None


def transcript_of(messages: Iterable[Message]) -> str:
    """Write messages as a transcript: a name and a text each, with the day where it is told.

    >>> transcript_of([Message("user", "I ski.", None, date(2026, 1, 5)), Message("assistant", "Nice.", None)])
    '[2026-01-05] user: I ski.\\n\\nassistant: Nice.'
    """
    return "\n\n".join(
        f"[{each.on}] {each.who}: {each.said}" if each.on else f"{each.who}: {each.said}" for each in messages
    )


def utterances_of(messages: Iterable[Message]) -> Iterator[Utterance]:
    """Yield what people say; what an assistant said goes with the answer to it."""
    asked: str | None = None
    for message in messages:
        if is_machine(message.who):
            asked = message.said
            continue
        speaker = None if is_writer(message.who) else message.who
        yield Utterance(speaker, message.said, message.start, is_chat=True, said_on=message.on, asked=asked)
        asked = None
