"""WhatsApp's exported chats: text lines as Android and iOS write them, with the dates of many languages."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from app.importers.imported_item import LeftOut, Read, SourceError, text_of, to_metadata
from app.importers.source_files import SourceFile, source_files
from app.importers.transcripts import ChatMessage, transcript_documents

_MARKS = "\u200e\u200f\u202a\u202c\ufeff"
_HALVES_BEFORE = r"上午|下午|凌晨|早上|中午|晚上|午前|午後|오전|오후|ÖÖ|ÖS"
_HALVES_AFTER = r"[aApP]\.?\s?[mM]\.?|[πμ]\.?\s?μ\.?|SA|CH|fm|em|[صم]|[قب]\.?\s?ظ\.?"
_SECOND_HALVES = ("p", "μ", "ch", "em", "م", "ب", "下午", "晚上", "午後", "오후", "中午", "ös")
_BETWEEN = rf"[{_MARKS}]*(?:[./-]|년|年|월|月)[{_MARKS}]* ?"
_HEAD = re.compile(
    rf"^[{_MARKS}]*\[?(?P<first>\d{{1,4}}){_BETWEEN}(?P<second>\d{{1,2}}){_BETWEEN}(?P<third>\d{{1,4}})"
    rf"(?:\.|일|日| г\.)?[{_MARKS}]*[,،]?\s+"
    rf"(?:(?:klo|kl|um|à|alle|a las|às)\.?\s+)?(?:(?P<before>{_HALVES_BEFORE})\s*)?"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<seconds>\d{2}))?"
    rf"(?:\s*(?P<after>{_HALVES_AFTER}))?[{_MARKS}]*(?:\]|,|\s+[-\u2013])\s+(?P<rest>.*)$"
)
_SENDER = re.compile(r"^(?P<name>[^:\n]{1,80}?):(?:\s(?P<text>.*))?$")
_OMITTED = re.compile(r"^<[^<>\n]{3,80}>\.?$")
_FILE = re.compile(r"^.{1,200}\.\w{2,5} \([^()\n]{3,40}\)$")
_TITLE = re.compile(
    r"^(?:WhatsApp Chat (?:with|-) |WhatsApp-Chat mit |Chat de WhatsApp con )?(?P<name>.+?)(?:\.txt|\.zip)?$"
)
_IOS_CHAT = "_chat.txt"

Order = Literal["day", "month", "year"]
"""Which part of a date is written first."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that begins a message, with the numbers of its date as written."""

    parts: tuple[int, int, int]
    clock: str
    rest: str


def read_whatsapp(source: Path) -> Read:
    """Yield the chats of a .txt file, the .zip archive around it, or a folder of them."""
    with source_files(source) as files:
        chosen = _chats(files)
        if not chosen:
            raise SourceError(f"{source} holds no .txt file of a WhatsApp chat.")
        for file in files:
            if file not in chosen and not file.name.endswith("/"):
                yield LeftOut(file.name, "a photo, recording or other file of the chat")
        for file in chosen:
            folder, _, title = file.name.rpartition("/")
            if title == _IOS_CHAT:
                title = folder.rpartition("/")[2] or source.name
            found = _TITLE.match(title)
            yield from _chat(file, found["name"] if found else title, is_only=len(chosen) == 1)


def _chats(files: Iterable[SourceFile]) -> list[SourceFile]:
    """Choose the texts that may be chats: beside a chat of iOS, others are files that were shared in it."""
    texts = [file for file in files if file.name.lower().endswith(".txt")]
    places = [(file, *file.name.rpartition("/")[::2]) for file in texts]
    of_ios = {folder for _, folder, name in places if name == _IOS_CHAT}
    return [file for file, folder, name in places if name == _IOS_CHAT or folder not in of_ios]


def _chat(file: SourceFile, name: str, *, is_only: bool) -> Read:
    order = date_order(line.parts for line in map(_parse_head, file.lines()) if line)
    if order is None and not is_only:
        yield LeftOut(file.name, "it holds no line with a date and a time: it is not a chat")
        return
    if order is None:
        raise SourceError(f"{file.name} holds no line with a date and a time: it is not a chat of WhatsApp.")
    messages = _messages(file.lines(), order, name)
    yield from transcript_documents("whatsapp", name, messages, to_metadata({"source": "whatsapp", "chat": name}))


def date_order(dates: Iterable[tuple[int, int, int]]) -> Order | None:
    """Tell from all dates of a chat what is written first; None without dates.

    A number above 12 is not a month. If that decides nothing, the order in which the chat runs forward is right, and
    of two such orders the one with the day first, which most of the world writes.
    """
    impossible: Counter[Order] = Counter()
    backward: Counter[Order] = Counter()
    last: dict[Order, tuple[int, ...]] = {}
    seen = False
    for first, second, third in dates:
        seen = True
        if first > 31:
            return "year"
        for order, month, day in (("day", second, first), ("month", first, second)):
            known: Order = "day" if order == "day" else "month"
            now = (third, month, day)
            impossible[known] += month > 12
            backward[known] += now < last.get(known, now)
            last[known] = now
    if not seen:
        return None
    return "month" if (impossible["month"], backward["month"]) < (impossible["day"], backward["day"]) else "day"


def _messages(lines: Iterable[str], order: Order, chat: str) -> Iterator[ChatMessage | LeftOut]:
    speaker, at = "", ""
    text: list[str] = []
    for line in lines:
        head = _parse_head(line)
        if head is None:
            text.append(text_of(line.strip(_MARKS)))
            continue
        if message := _finish(speaker, text, at, chat):
            yield message
        at = _iso(head, order) or at
        sender = _SENDER.match(head.rest)
        speaker, text = (
            (sender["name"].strip(_MARKS + " ~\u202f\u00a0"), [sender["text"] or ""]) if sender else ("", [])
        )
        if not sender:
            yield LeftOut(f"{chat}, {at}", "a notice of WhatsApp itself")
    if message := _finish(speaker, text, at, chat):
        yield message


def _finish(speaker: str, lines: list[str], at: str, chat: str) -> ChatMessage | LeftOut | None:
    text = "\n".join(lines).strip()
    if not speaker:
        return None
    plain = text.strip(_MARKS + " ")
    # iOS marks what is no text with a direction mark; Android writes it in angle brackets or with the file's name.
    if not plain or text.startswith("\u200e") or _OMITTED.match(plain) or _FILE.match(plain):
        return LeftOut(f"{chat}, {at}", "a photo, recording or other message without text")
    return ChatMessage(speaker, text_of(plain), at)


def _parse_head(line: str) -> _Line | None:
    found = _HEAD.match(
        line.replace("\u202f", " ").replace("\u00a0", " ") if "\u202f" in line or "\u00a0" in line else line
    )
    if found is None:
        return None
    hour = int(found["hour"])
    half = (found["after"] or found["before"] or "").casefold()
    if half.startswith(_SECOND_HALVES):
        hour = hour % 12 + 12
    elif half:
        hour %= 12
    clock = f"{hour:02}:{int(found['minute']):02}:{int(found['seconds'] or 0):02}"
    return _Line((int(found["first"]), int(found["second"]), int(found["third"])), clock, found["rest"])


def _iso(line: _Line, order: Order) -> str | None:
    first, second, third = line.parts
    year, month, day = {"day": (third, second, first), "month": (third, first, second), "year": (first, second, third)}[
        order
    ]
    written = f"{year + 2000 if year < 100 else year:04}-{month:02}-{day:02}T{line.clock}"
    try:
        return datetime.fromisoformat(written).isoformat()
    except ValueError:
        return None
