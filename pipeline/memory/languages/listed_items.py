"""Lists: notes and minutes whose lines are no sentences, `wifi: tangerine`, `bins: tuesday`. Pure.

No parser reads them. Each is kept as it stands, below its title, where it gives something a value.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.memory.languages.profiles import words_of_all
from pipeline.memory.languages.short_messages import SURELY_MEMORABLE

MIN_ITEMS = 3
MAX_ITEM_CHARS = 100
_FEW_WORDS = 2
_MIN_CHARS = 8
"""Characters of a line of minutes that says something."""
_MARK = re.compile(
    r"\s*(?:[-*+\u2022\u30fb\u2013]\s*(?=\S)|(?:TOP |\u00a7 ?)?\d{1,2}[.):]?\s+(?=[^\W\d_])|\[[ xX]?\]\s*)+"
)
_LABEL = re.compile(
    r"(?P<label>[^\n:\uff1a=]{1,40}?)(?: ?[:\uff1a](?!\d\d|//)\s*| = |\s[-\u2013\u2014\u2192]+>?\s)(?P<value>\S.*)"
)
_TITLE = re.compile(r"[\W_]*(?P<title>[^\n!?:\uff1a=]{1,50}?)[\W_]*$")
_NO_TITLE = re.compile(
    r"(?:me|about me|ich|moi|yo|io|eu|ik|jag|ja|ben|私|(?:\w+ )?not(?:e|es|iz|izen|as?|ities|atki|lar|er)|"
    r"memo|to-?do|lists?|メモ)$",
    re.IGNORECASE,
)
"""Titles that say no more than whose note it is."""
_SAID = re.compile(r"[^\W\d_]{3,}[.\u3002]\W*$|[?\uff1f]|^@?\w+ \d\d?:\d\d \w|\b(?:lol|haha\w*)$|\b[Yy]our?\b")
"""A sentence, a question, a line of a chat, a joke, or what is said to a reader."""
_AMOUNT_FIRST = re.compile(r"\d[\d.,/]*\s?(?:x|g|kg|ml|l|oz|lb|tsp|tbsp|cups?|el|tl|c\. ?à s)?\b(?!:)", re.IGNORECASE)
"""An amount of what a recipe or a shopping list names."""
_FRAME = re.compile(
    r"(?:present\w*|présents?|attend\w*|participants?|apolog\w*|absent\w*|excus\w*|anwesend\w*|teilnehm\w*|entschuldigt|"
    r"asist\w*|assenti|aanwezig|afwezig|(?:nie)?obecni|närvarande|katıl\w*|from|to|cc|subject|date|datum|fecha|data|"
    r"version|page)\b|[出欠]席|参加者",
    re.IGNORECASE,
)
"""Who was there, and what stands above a text."""
_SETTING = re.compile(r"- \S+|[\w.-]+(?: ?= ?|:(?: |$))\S*")
_CODE = re.compile(
    r"[\w\]\"'][_/][\w\[\"']|[{}\[\]\"]|^[A-Z]+_[A-Z]|\b(?:true|false|null|localhost|always)\b", re.MULTILINE
)
"""Fields of a configuration, of which one at least looks like code."""
_NO = re.compile(r"(?:no|not|never|without|kein\w*|pas de|sans|sin|senza|sem|geen|bez|inga?) \w", re.IGNORECASE)
_NOTHING = re.compile(r"\W*(?:none|nothing|n/?a|tbd|tba|keine?|rien|nada|niente|geen)?\W*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ListedItem:
    """A line of a list without its mark, its title if it has one, and its span in the text."""

    text: str
    title: str
    start: int
    end: int

    @property
    def is_labelled(self) -> bool:
        """True if it gives a name and its value: `alarm: 5512`, and is no sentence."""
        return _labelled(self.text) is not None and _SAID.search(self.text) is None

    def is_kept(self, log_odds: float, *, is_minutes: bool) -> bool:
        """Return whether it is worth keeping as it stands.

        A label has its value, a line a number, and what is written in minutes is meant to be kept. `log_odds` that
        people want it to be kept decide of others.
        """
        if _FRAME.match(self.text) or _SAID.search(self.text) or (_AMOUNT_FIRST.match(self.text) and not is_minutes):
            return False
        if (labelled := _labelled(self.text)) is not None:
            return _NOTHING.match(labelled["value"]) is None
        is_told = _has_digit(self.text) or _says_no(self.text)
        is_told = is_told or (is_minutes and log_odds > 0 and len(self.text) >= _MIN_CHARS)
        return is_told or (" " in self.text and log_odds >= SURELY_MEMORABLE)

    @property
    def titled(self) -> str:
        """The item after its title."""
        return f"{self.title}, {self.text}" if self.title else self.text


def is_list(text: str) -> bool:
    r"""Return whether most lines of a text are items, and enough of them are marked or have a label.

    >>> is_list("House\nwifi: tangerine\nbins - tues\nalarm 5512"), is_list("I moved.\nTo Rome.\nIt is nice.")
    (True, False)
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    items = [line for line in lines if len(line) <= MAX_ITEM_CHARS and not _SAID.search(line)]
    if sum(_SETTING.fullmatch(line) is not None for line in lines) * 2 >= len(lines) and _CODE.search(text):
        return False
    formed = sum(
        _MARK.match(line) is not None or _labelled(line) is not None or _has_digit(line) or line.count(" ") < _FEW_WORDS
        for line in items
    )
    return len(items) >= MIN_ITEMS and len(items) * 5 >= len(lines) * 4 and formed * 2 >= len(items)


def listed_items(text: str) -> Iterator[ListedItem]:
    r"""Yield the items of a list.

    >>> [item.titled for item in listed_items("House\n- wifi: tangerine\n- alarm 5512")]
    ['House, wifi: tangerine', 'House, alarm 5512']
    """
    title, position, is_first = "", 0, True
    for line in text.splitlines(keepends=True):
        start, position = position, position + len(line)
        mark = _MARK.match(line)
        begin = 0 if mark is None else mark.end()
        said = line[begin:].strip()
        if not said:
            continue
        heading = _TITLE.match(said) if mark is None and (is_first or said[-1] in ":\uff1a") else None
        is_first = False
        if heading is not None:
            title = "" if _NO_TITLE.match(heading["title"]) else heading["title"]
            continue
        yield ListedItem(said, title, start + begin, start + begin + len(said))


def _says_no(text: str) -> bool:
    """Return whether a line says what is not allowed or not so: `no pets`, `kein Ibuprofen`."""
    return _NO.match(text) is not None or any(words_of_all(kind).search(text) for kind in ("rules", "denied"))


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _labelled(text: str) -> re.Match[str] | None:
    mark = _MARK.match(text)
    return _LABEL.fullmatch(text, 0 if mark is None else mark.end())
