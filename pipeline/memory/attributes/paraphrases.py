"""Plain forms of what people say in other words, so that both are about the same attribute. Pure.

The patterns are lines of `paraphrases.txt`.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pipeline.memory.attributes.attribute_patterns import NAME, NOW, RELATIVE
from pipeline.memory.languages.english import english_pattern
from pipeline.memory.outlines.wording import as_done

_RULES = Path(__file__).with_suffix(".txt")
_PLACEHOLDER = re.compile(r"(?<!\?P)<(\w+)>")
_PARTS = {
    "name": NAME,
    "now": NOW,
    "relative": RELATIVE,
    "who": rf"(?P<s>{NAME}(?:{RELATIVE})?)",
    "place": r"(?P<v>[A-Z][\w'-]*(?: [A-Z][\w'-]*)*)",
    "when": (
        r"(?P<t>(?: (?:now|since|for|as of|from|on|in|last|this|these|at the|right|with|again|by|around|over|"
        r"yesterday|today|recently|lately)\b.*)?)"
    ),
    "rest": "(?P<t>.*)",
    "job": r"(?P<v>(?:[a-z-]+ ){0,3}?[a-z-]+)",
    "role": english_pattern("jobs_alone"),  # `is happy at Acme` and `is staying at Hilton` state none
    "thing": english_pattern("things_with_article"),  # `the flight is at 9`, `flight got moved`
    "home": english_pattern("homes"),
}


@cache
def _forms() -> list[tuple[re.Pattern[str], list[str]]]:
    """Return the patterns with the plain statements that they give."""
    lines = [line for line in _RULES.read_text("utf-8").splitlines() if not line.startswith("#")]
    return [
        (
            re.compile(f"^{_PLACEHOLDER.sub(lambda name: _PARTS[name[1]], pattern)}$"),
            _PLACEHOLDER.sub(r"{\1}", plain.strip()).split("; "),
        )
        for pattern, plain in zip(lines[::2], lines[1::2], strict=True)
    ]


_TAIL = re.compile(r"(?:,| after all$| in the end$| because | so | but | though | [-\u2013\u2014] | \().*$")


def plain_forms(text: str, *, is_first: bool = True) -> Iterator[str]:
    """Yield plain statements that say the same as a fact, without an aside after a comma, and forms of these.

    >>> next(plain_forms("User relocated to Riga"))
    'User moved to Riga'
    """
    text = as_done(text.strip().rstrip(".!"))
    head = _TAIL.sub("", text)
    if head != text and len(head.split()) > 2:
        yield head
    for pattern, forms in _forms():
        match = pattern.match(head)
        if match is not None:
            values = {name: value or "" for name, value in match.groupdict().items()}
            value, who = values.get("v", ""), values.get("s")
            values |= {"V": value[:1].upper() + value[1:], "w": who or "User"}
            for form in forms:
                plain = form.format(**values)
                yield plain
                if is_first:
                    yield from plain_forms(plain, is_first=False)
