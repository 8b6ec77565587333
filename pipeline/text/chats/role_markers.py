"""Messages of a chat whose roles are marked in its text: prompts of models, tags, headings and brackets."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.text.chats.message import Message
from pipeline.text.chats.roles import ROLE_PATTERN, is_machine, is_writer

_HEAD_CHARS = 5_000
_HEAD_LINES = 6
"""Part of a text in which its first message begins."""
_MARKUP = re.compile(r"<[^<>]*>")
_ROLES_BY_TOKEN = {"inst": "user", "/inst": "assistant"}


class Form(NamedTuple):
    """Beginning of a message, and what ends it if not the beginning of the next one."""

    begin: re.Pattern[str]
    end: re.Pattern[str] | None = None


def _form(begin: str, end: str | None = None) -> Form:
    pattern = begin.replace("ROLE", f"(?P<role>{ROLE_PATTERN})")
    return Form(re.compile(pattern, re.IGNORECASE | re.MULTILINE), re.compile(end) if end else None)


_TOKEN_FORMS = (
    _form(r"<\|im_start\|>\s*(?P<role>\w+)[^\n]*\n?", r"<\|im_end\|>"),
    _form(r"<\|start_header_id\|>\s*(?P<role>\w+)\s*<\|end_header_id\|>", r"<\|eot_id\|>|<\|end_of_text\|>"),
    _form(r"<\|ROLE\|>", r"<\|end\|>|<\|endoftext\|>|</s>"),
    _form(r"<start_of_turn>(?P<role>\w+)", r"<end_of_turn>"),
    _form(r"\[(?P<role>/?INST)\]", r"</?s>"),
)
"""Prompts of models, whose tokens stand nowhere else."""
_LINE_FORMS = (
    _form(r"<ROLE(?:\s[^<>]*)?>", r"</\w+>"),
    _form(r"<\w+\s[^<>]*?\b(?:role|from|sender|author|speaker|name)=[\"']ROLE[\"'][^<>]*>", r"</\w+>"),
    _form(r"^[ \t]*-[ \t]+\w+:[ \t]*[\"']?ROLE[\"']?[ \t]*\n[ \t]+\w+:[ \t]*(?:[|>][+-]?[ \t]*\n)?"),
    _form(r"^[ \t]*(?:#{1,6}[ \t]+|[*_]{1,3})?ROLE(?: said| says| wrote)?:?[*_]{0,3}:?[ \t]*$"),
    _form(r"^[ \t]*[\[(]ROLE[\])][ \t]*:?"),
    _form(r"^[ \t]*ROLE[ \t]*(?:[=-]*>+|[»|\u2013\u2014])[ \t]+"),
)


def marked_messages(text: str, *, complete: bool = False) -> list[Message]:
    """Return the messages of a chat with an assistant in order; none for any other text.

    `complete`: only where nothing but markup stands outside of them.

    >>> [message[:2] for message in marked_messages("<user>I ski.</user>\\n<assistant>Nice.</assistant>")]
    [('user', 'I ski.'), ('assistant', 'Nice.')]
    >>> marked_messages("## User\\n\\nThe user signs in.\\n\\n## Administrator\\n\\nSets limits.")
    []
    """
    for forms, needs_answer in ((_TOKEN_FORMS, False), (_LINE_FORMS, True)):
        for form in forms:
            if not begins_with(form, text):
                continue
            marks = list(form.begin.finditer(text))
            roles = [_role(mark) for mark in marks]
            if any(map(is_writer, roles)) and (any(map(is_machine, roles)) or not needs_answer):
                found, outside = cut_at(text, form, marks, roles)
                return found if not (complete and any(map(str.isalnum, _MARKUP.sub("", outside)))) else []
    return []


def begins_with(form: Form, text: str) -> bool:
    """Return whether a message of this form begins in the first lines of a text."""
    first = form.begin.search(text, 0, _HEAD_CHARS)
    return first is not None and text.count("\n", 0, first.start()) <= _HEAD_LINES


def _role(mark: re.Match[str]) -> str:
    return _ROLES_BY_TOKEN.get(mark["role"].casefold(), mark["role"])


def cut_at(text: str, form: Form, marks: Sequence[re.Match[str]], roles: Sequence[str]) -> tuple[list[Message], str]:
    """Return the messages that begin at these marks, and the text outside of them."""
    found, outside = [], [text[: marks[0].start()]]
    for mark, role, end in zip(marks, roles, [*(mark.start() for mark in marks[1:]), len(text)], strict=True):
        ended = form.end.search(text, mark.end(), end) if form.end else None
        said = text[mark.end() : ended.start() if ended else end]
        outside.append(text[ended.end() : end] if ended else "")
        bare = said.strip().strip("\"'") if form.end is None else said.strip()
        if bare:
            found.append(Message(role, bare, text.index(bare, mark.end())))
    return found, " ".join(outside)
