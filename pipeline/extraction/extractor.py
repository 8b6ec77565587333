"""`ports.Extractor`: texts in this process, files in worker processes, media through an endpoint."""

import asyncio
import re
from collections.abc import Callable
from html import unescape
from typing import Protocol, TypeVar

from pipeline.errors import ExtractionError
from pipeline.extraction.charset import decode
from pipeline.extraction.kinds import MEDIA, MIME_TYPES, TEXTUAL, hinted, kind_of_file
from pipeline.extraction.shape import conversation, is_html, kind_of_text
from pipeline.extraction.titles import title_of
from pipeline.extraction.workers import ParserError, WorkerPool
from pipeline.ports import Extracted
from schemas.events import Upload
from schemas.limits import TEXT_CHARACTERS

T = TypeVar("T")

QUICK = 65_536
"""Longer texts are looked at in a thread, so that the loop goes on serving."""
PARSED = {kind: mime for mime, kind in reversed(MIME_TYPES.items()) if kind not in TEXTUAL | MEDIA} | {
    "webpage": "text/html",
    "csv": "text/csv",
    "email": "message/rfc822",
    "rtf": "application/rtf",
}
"""The kinds that a worker parses, and the MIME type it is told."""
_PAGE_TITLE = re.compile(rb"<title[^>]*>([^<]*)</title", re.IGNORECASE)


class Media(Protocol):
    """Describes images and transcribes audio; ExtractionError or RetryableError where it can't."""

    async def describe(self, data: bytes, mime_type: str) -> str: ...

    async def transcribe(self, data: bytes, filename: str) -> str: ...


class FileExtractor:
    """Files and texts to canonical text: Markdown where the format has structure, else as it was sent."""

    def __init__(self, workers: WorkerPool, media: Media | None = None) -> None:
        self._workers = workers
        self._media = media

    async def file(self, data: bytes, upload: Upload) -> Extracted:
        """A file's text, kind and title. ExtractionError says what was wrong with it, and what it is."""
        kind = await _apart(len(data), lambda: kind_of_file(data, upload))
        try:
            return await self._read(kind, data, upload)
        except ExtractionError as error:
            error.kind = hinted(upload) if kind is None or kind in _CONTAINERS else kind
            raise

    async def _read(self, kind: str | None, data: bytes, upload: Upload) -> Extracted:
        if not data or data.isspace():
            raise ExtractionError("The file is empty. Send a file with content.")
        if kind in MEDIA:
            return await self._described(kind, data, upload)
        if kind in _CONTAINERS:
            raise ExtractionError(_CONTAINERS[kind])
        if kind is not None and kind not in TEXTUAL:
            return await self._binary(kind, data, upload)
        text = await _apart(len(data), lambda: decode(data, upload.mime_type))
        if len(text) > TEXT_CHARACTERS:
            raise ExtractionError(_too_long(len(text)))
        if kind is None:
            kind = await _apart(len(text), lambda: _shape_of_file(text, upload))
        return await self._textual(kind, text, upload.filename)

    async def text(self, text: str) -> Extracted:
        """A submitted text's kind and title; markup, CSV and e-mail become readable text."""
        kind = await _apart(len(text), lambda: kind_of_text(text))
        try:
            return await self._textual(kind, text, None)
        except ParserError:
            # Its kind was our guess: whatever the parser thinks of it, the sender wrote a text.
            return Extracted(text=text, type="text", title=title_of(text, "text", filename=None))

    async def aclose(self) -> None:
        """End the worker processes."""
        await self._workers.aclose()

    async def _binary(self, kind: str, data: bytes, upload: Upload) -> Extracted:
        try:
            return await self._parsed(kind, data, upload.filename)
        except ParserError as error:
            if data[:1024].lstrip()[:5] == b"%PDF-" or data[:2] == b"PK":
                raise
            # Named like a document but without its signature: it may be a text under a wrong name.
            return await self._misnamed(data, upload, error)

    async def _misnamed(self, data: bytes, upload: Upload, error: ParserError) -> Extracted:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise error from None
        return await self._textual(kind_of_text(text), text, upload.filename)

    async def _textual(self, kind: str, text: str, filename: str | None) -> Extracted:
        if len(text) > TEXT_CHARACTERS:
            raise ExtractionError(_too_long(len(text)))
        if kind in PARSED:
            return await self._parsed(kind, text.encode(errors="replace"), filename)
        told = conversation(text) if kind in {"json", "chat"} else None
        text, kind = (told, "chat") if told is not None else (text, kind)
        return Extracted(text=text, type=kind, title=title_of(text, kind, filename=filename))

    async def _parsed(self, kind: str, data: bytes, filename: str | None) -> Extracted:
        output = "plain" if kind in {"email", "rtf"} else "markdown"
        try:
            found = await self._workers.parse(data, mime=PARSED[kind], filename=filename, output=output)
        except ParserError as error:
            raise ParserError(_reason(kind, str(error))) from error
        text = found.text.replace("\x00", "").strip()
        if not text:
            raise ParserError(_EMPTY.get(kind, f"No text was found in the {kind} file."))
        if len(text) > TEXT_CHARACTERS:
            raise ExtractionError(_too_long(len(text)))
        given = page_title(data) if kind == "webpage" else found.subject if kind == "email" else found.title
        return Extracted(text=text, type=kind, title=title_of(text, kind, given=given, filename=filename))

    async def _described(self, kind: str, data: bytes, upload: Upload) -> Extracted:
        if self._media is None or kind == "video":
            raise ExtractionError(_REFUSED[kind])
        if kind == "image":
            text = await self._media.describe(data, _image_type(data, upload))
        else:
            text = await self._media.transcribe(data, upload.filename or "audio")
        if not text.strip():
            raise ExtractionError(f"The configured model found nothing to say about the {kind}.")
        title = title_of(text, kind, filename=upload.filename)
        return Extracted(text=text.strip(), type=kind, title=title)


_REFUSED = {
    "image": "Images need a model that describes them: set RECOLLECT_LLM_BASE_URL and RECOLLECT_LLM_MODEL "
    "to an endpoint with vision, or send the image's text.",
    "audio": "Audio needs a model that transcribes it: set RECOLLECT_LLM_BASE_URL and RECOLLECT_LLM_MODEL "
    "to an endpoint with transcriptions, or send a transcript.",
    "video": "Videos are not supported. Send a transcript, or the sound track as an audio file "
    "(which needs RECOLLECT_LLM_BASE_URL and RECOLLECT_LLM_MODEL).",
}
_CONTAINERS = {
    "ole": "The file is an office document with a password, or of an old format. Remove the password or save "
    "it as DOCX, PPTX, XLSX or PDF, and send it again.",
    "zip": "The file is an archive. Unpack it and send what is inside.",
}
_EMPTY = {
    "pdf": "No text was found in the PDF: it is damaged, empty or made of scanned pages. Send its text.",
    "webpage": "No text was found in the page: it may need a browser to build it. Send its text.",
}


_IMAGES = {
    b"\x89PNG": "image/png",
    b"GIF8": "image/gif",
    b"\xff\xd8\xff": "image/jpeg",
    b"RIFF": "image/webp",
}


def _reason(kind: str, detail: str) -> str:
    """A parser's message for people."""
    lower = detail.lower()
    if "password" in lower or "encrypted" in lower:
        return f"The {kind} file is protected by a password. Remove the password and send it again."
    if "os error 11" in lower or "os error 12" in lower or "memory" in lower:
        return (
            f"The {kind} file needs more memory than RECOLLECT_EXTRACT_MEMORY_MB allows. Send a part of it."
        )
    if "security limit" in lower or "exceeds limit" in lower:
        return f"The {kind} file unpacks to far more than its size and was refused ({detail[:200]})."
    return f"The {kind} file can't be read: it is damaged, or not a {kind} file ({detail[:200]})."


def _too_long(characters: int) -> str:
    return (
        f"The text has {characters:,} characters; a document may have {TEXT_CHARACTERS:,}. "
        "Split it into several documents."
    )


def _shape_of_file(text: str, upload: Upload) -> str:
    shape = kind_of_text(text)
    plain = hinted(upload) == "text" and upload.filename is not None
    # A .txt file is what its name says unless it is markup, which nobody wants to read raw.
    return shape if not plain or is_html(text[:1024]) or shape == "chat" else "text"


def page_title(data: bytes) -> str | None:
    """What a page calls itself. (The parser would put it into the text as well.)"""
    found = _PAGE_TITLE.search(data[:65_536])
    return unescape(found.group(1).decode(errors="replace")) if found else None


def _image_type(data: bytes, upload: Upload) -> str:
    told = (upload.mime_type or "").split(";")[0]
    found = next((mime for mark, mime in _IMAGES.items() if data.startswith(mark)), None)
    return found or (told if told.startswith("image/") else "image/png")


async def _apart(size: int, work: Callable[[], T]) -> T:
    return work() if size <= QUICK else await asyncio.to_thread(work)
