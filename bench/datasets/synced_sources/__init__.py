"""What people sync: workspaces, a person's chats with an assistant over a year, mails and notes.

`workspace`: a firm's texts in six languages; `chats`: a midwife's. Written later, in passages of 100 to 300 words with
more answers that changed: `family` (two parents, three languages, long replies of the assistant), `team` (chat of
colleagues, minutes, wiki; four languages), `freelancer` (mails and notes; five languages), `club` (minutes and
newsletters) and `student` (chats). The whole of `club` and `student` was looked at while rules were chosen. `hotel`
(hand-overs, minutes, mails, reports; five languages), `project` (issues, releases, minutes of a program's maintainers;
four languages) and `renovation` (letters, offers, chats with long replies; four languages) were written later. The
last ones are open or locked as a whole, so that nothing is tuned on a text of the locked half: `studio` (a game
studio's wiki, chat and minutes; four languages) and `clinic` (minutes, routines, mails; three) are open, `landlord`
(minutes, letters, notes of a house; four) and `farm` (diary, letters, volunteers' log; three) locked.

A text begins with `=== `, its day and its title. `?` one text answers, with the words that tell it; `>` words of a
newer text answer, those of an older one did before; `~` names somebody or something known, and asks what no text says;
`!` is about something else. Many questions are written as people type in a hurry; some are in another language than
the text. Of the other sources half of the questions are locked (`bench.ranking.is_locked`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent
SOURCES = ("workspace", "chats", "family", "team", "freelancer", "club", "student", "hotel", "project", "renovation")
WHOLE_SOURCES = {"studio": False, "clinic": False, "landlord": True, "farm": True}
"""Whether all questions of a source are locked."""


@dataclass(frozen=True, slots=True)
class SyncedText:
    """A text with its title, which may be empty, and its day."""

    day: str
    title: str
    body: str

    @property
    def content(self) -> str:
        """The text with its title as its first line, unless it begins with a heading of its own."""
        return self.body if self.body.startswith("# ") or not self.title else f"{self.title}\n\n{self.body}"


@dataclass(frozen=True, slots=True)
class Answer:
    """Words that answer, and the places of the texts that have them."""

    words: str
    places: frozenset[int]


@dataclass(frozen=True, slots=True)
class Source:
    """Texts, oldest first, and questions by kind; a replaced answer is the newer one, then the older one."""

    texts: list[SyncedText]
    answered: list[tuple[str, Answer]]
    replaced: list[tuple[str, Answer, Answer]]
    near: list[str]
    foreign: list[str]


def read_source(name: str) -> Source:
    """Read one of `SOURCES`."""
    texts = sorted(_texts((_FOLDER / f"{name}.txt").read_text("utf-8")), key=lambda text: text.day)
    lines = (_FOLDER / f"{name}_questions.txt").read_text("utf-8").strip().split("\n")
    answered = (question.split(" = ") for question in _marked(lines, "?"))
    replaced = (question.split(" = ") for question in _marked(lines, ">"))
    return Source(
        texts,
        [(question, _answer(texts, words)) for question, words in answered],
        [(question, *_pair(texts, *both.split(" / "))) for question, both in replaced],
        list(_marked(lines, "~")),
        list(_marked(lines, "!")),
    )


def _texts(content: str) -> Iterator[SyncedText]:
    for part in content.removeprefix("=== ").split("\n=== "):
        head, _, body = part.partition("\n")
        day, _, title = head.partition(" ")
        yield SyncedText(day, title, body.strip())


def _marked(lines: list[str], mark: str) -> Iterator[str]:
    return (line[2:] for line in lines if line.startswith(mark))


def _pair(texts: list[SyncedText], newer: str, older: str) -> tuple[Answer, Answer]:
    return _answer(texts, newer), _answer(texts, older)


def _answer(texts: list[SyncedText], words: str) -> Answer:
    """Find the texts that have these words; raises ValueError where none has."""
    places = frozenset(at for at, text in enumerate(texts) if words in " ".join(text.content.split()))
    if not places:
        raise ValueError(f"no text has {words!r}")
    return Answer(words, places)
