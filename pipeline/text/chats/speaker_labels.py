"""Messages of people whose names stand above or before what they say, in other forms than `Name: text`."""

import re
from collections import Counter
from collections.abc import Callable

from pipeline.text.chats.message import Message
from pipeline.text.chats.role_markers import Form, begins_with, cut_at
from pipeline.text.chats.roles import FIRST_PERSON

_NAME = r"(?P<role>[^\W\d_][\w.'\u2019-]*(?: [^\W\d_][\w.'\u2019-]*){0,3}(?: \d{1,3})?)"
_TIME = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?: ?[AaPp][Mm])?"


def _forms(*begins: str) -> tuple[Form, ...]:
    return tuple(Form(re.compile(begin, re.MULTILINE)) for begin in begins)


_TIMED_FORMS = _forms(
    rf"^[\[(*_]{{0,3}}{_NAME}[\])*_:]{{0,3}}[ \t]*[-\u2013\u2014|]?[ \t]*[\[(]?{_TIME}[\])]?[ \t]*:?[ \t]*$",
    rf"^>?[ \t]*[\[(]?{_TIME}[\])]?[ \t]*[-\u2013\u2014|]?[ \t]*[\[(*_]{{0,3}}{_NAME}[\])*_]{{0,3}}:?[ \t]*$",
    rf"^>[ \t]*[*_]{{0,3}}{_NAME}[*_]{{0,3}}[ \t]+{_TIME}[ \t]*$",
    rf"^{_TIME}[ \t]+From[ \t]+{_NAME}[ \t]+to[ \t]+[^:\n]{{1,60}}:[ \t]*",
    rf"^{_TIME}[ \t]+From[ \t]+{_NAME}[ \t]*:[ \t]*",
)
"""Each message has its time."""
_FORMS = _forms(
    rf"^[*_]{{2,3}}{_NAME}[*_]{{2,3}}[ \t]*[-\u2013\u2014:]?[ \t]*",
    rf"^{_NAME}[ \t]+[-\u2013\u2014][ \t]+(?=\S)",
    r"^(?P<role>[^\W\d_a-z]{2,}(?: [^\W\d_a-z]{2,}){0,2})\.[ \t]+(?=\S)",
    rf"^[\[(]?{_NAME}[\])]?:?[ \t]*$",
    rf"^{_NAME}:[ \t]+(?=\S)",
)
_LEAST_SHARE = 0.3
"""Least share of messages in the first person: fields and headings may come back too."""
_MAX_INITIALS = 3
"""Length up to which a name in capitals may be initials."""


def labelled_messages(text: str, is_name: Callable[[str], bool]) -> list[Message]:
    """Return the messages of people in order; none for any other text. `is_name`: may be that of a speaker.

    >>> talk = "[Ann Lee] 10:01\\nI moved.\\n\\n[Bo] 10:02\\nI know.\\n\\n[Ann Lee] 10:03\\nThanks."
    >>> [message[:2] for message in labelled_messages(talk, str.istitle)]
    [('Ann Lee', 'I moved.'), ('Bo', 'I know.'), ('Ann Lee', 'Thanks.')]
    """
    for forms, is_timed in ((_TIMED_FORMS, True), (_FORMS, False)):
        for form in forms:
            if not begins_with(form, text):
                continue
            marks = [mark for mark in form.begin.finditer(text) if is_name(mark["role"])]
            names = [_capitalized(mark["role"]) for mark in marks]
            if _take_turns(Counter(names), is_timed=is_timed):
                found, _ = cut_at(text, form, marks, names)
                if sum(FIRST_PERSON.search(each.said) is not None for each in found) >= _LEAST_SHARE * len(found):
                    return found
    return []


def _capitalized(name: str) -> str:
    return name.title() if name.isupper() and len(name) > _MAX_INITIALS else name


def _take_turns(names: Counter[str], *, is_timed: bool) -> bool:
    """Return whether two or more people speak, and some of them again; without times, most of them."""
    again = sum(1 for count in names.values() if count > 1)
    return len(names) > 1 and again >= (1 if is_timed else max(2, len(names) // 2))
