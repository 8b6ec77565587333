"""`ports.DocumentParser`: texts in this process, files in worker processes, media through an endpoint."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Protocol, TypeVar

from pipeline.errors import ParsingError
from pipeline.parsing import archive_files, optical_recognition
from pipeline.parsing.archive_files import DAMAGED, MAX_NESTING, ArchiveFile, read_archive
from pipeline.parsing.charset_detection import decode
from pipeline.parsing.document_titles import document_title
from pipeline.parsing.file_types import KIND_BY_MIME_TYPE, MEDIA_KINDS, TEXT_KINDS, detect_file_kind, kind_from_hints
from pipeline.parsing.mail.calendar_text import calendar_title, calendar_to_text, is_calendar
from pipeline.parsing.mail.contact_text import contacts_to_text, is_contact
from pipeline.parsing.parser_pool import ParserPool, ParserResult, UnparsableFileError
from pipeline.parsing.parser_process import NO_READER
from pipeline.parsing.svg_text import is_svg, read_svg
from pipeline.parsing.text_types import chat_as_transcript, detect_text_kind, is_html, unescape_json
from pipeline.ports import ParsedDocument
from pipeline.text.page_breaks import join_pages, split_pages, strip_blank, without_page_breaks
from schemas.events import Upload
from schemas.limits import MAX_TEXT_CHARS

T = TypeVar("T")

ARCHIVE_SECONDS = 300.0
"""Longest time for all files of an archive; those that come after are named as not read."""
RECOGNITION_SECONDS = 1800.0
"""Longest time for the pages of a scan; those that come after are named as not read."""
MAX_INLINE_SIZE = 65_536
"""Longest text that is analyzed on the event loop; longer ones go to a thread."""
PARSER_MIME_TYPES = {
    kind: mime for mime, kind in reversed(KIND_BY_MIME_TYPE.items()) if kind not in TEXT_KINDS | MEDIA_KINDS
} | {"webpage": "text/html", "csv": "text/csv", "email": "message/rfc822", "rtf": "application/rtf"}
"""Kinds that a worker process parses, with the MIME type that it receives."""
_PAGE_TITLE = re.compile(rb"<title[^>]*>([^<]*)</title", re.IGNORECASE)
_ESCAPED = re.compile(r"^```.*?^```|(?<!\\)`[^`\n]+`|\\([\\+\-.~`<])|(?<=[^\n])\\([#>])", re.DOTALL | re.MULTILINE)
"""Code, which stays, or an escape that Markdown does not need there."""
_ANSI_SEQUENCE = re.compile(rb"\\u001b\[[0-9;]*[A-Za-z]")
"""A colour of the terminal, in the JSON of a notebook."""
_OBJECT = re.compile(r" ?<[\w.]+ object at 0x[0-9a-f]+>")
"""A Python object as a library prints it, which says nothing to people."""


class EmptyFileError(UnparsableFileError):
    """A file without text."""


class MediaModel(Protocol):
    """Model endpoint for images and audio. Raises ParsingError or RetryableError."""

    async def describe(self, data: bytes, mime_type: str) -> str: ...

    async def transcribe(self, data: bytes, filename: str) -> str: ...


class FileParser:
    """Parser of files and texts; returns Markdown for structured formats, else the text as sent."""

    def __init__(
        self, pool: ParserPool, media_model: MediaModel | None = None, *, recognizes_text: bool | None = None
    ) -> None:
        """`recognizes_text`: read images and scanned PDFs with the `ocr` extra; None: if it is installed."""
        self._pool = pool
        self._media_model = media_model
        self._recognizes_text = optical_recognition.is_installed() if recognizes_text is None else recognizes_text

    async def parse_file(self, data: bytes, upload: Upload) -> ParsedDocument:
        """Parse a file. ParsingError carries the reason and the kind of the file."""
        kind = await _run_in_thread_if_large(len(data), lambda: detect_file_kind(data, upload))
        try:
            return await self._parse_by_kind(kind, data, upload)
        except ParsingError as error:
            named = kind_from_hints(upload) if kind is None or kind in _UNTYPED_CONTAINERS else kind
            error.document_type = named if named is None else _SHOWN_TYPES.get(named, named)
            raise

    async def _parse_by_kind(self, kind: str | None, data: bytes, upload: Upload) -> ParsedDocument:
        if not data or data.isspace():
            raise ParsingError("The file is empty. Send a file with content.")
        if kind in MEDIA_KINDS:
            return await self._describe_media(kind, data, upload)
        if kind in _CONTAINER_REFUSALS:
            raise ParsingError(_CONTAINER_REFUSALS[kind])
        if kind == "archive":
            ends_at = asyncio.get_running_loop().time() + ARCHIVE_SECONDS
            return await self._parse_archive(data, upload, _ArchiveLimits(ends_at, archive_files.MAX_UNPACKED_BYTES))
        if kind is not None and kind not in TEXT_KINDS:
            return await self._parse_binary(kind, data, upload)
        if kind == "email":
            return await self._parse_in_worker(kind, data, upload.filename)  # its parts have charsets of their own
        text = await _run_in_thread_if_large(len(data), lambda: decode(data, upload.mime_type))
        _require_allowed_length(len(text))
        if kind is None:
            kind = await _run_in_thread_if_large(len(text), lambda: _detect_text_file_kind(text, upload))
        if kind == "json":
            text = await _run_in_thread_if_large(len(text), lambda: unescape_json(text))
        return await self._parse_textual(kind, text, upload.filename)

    async def parse_text(self, text: str) -> ParsedDocument:
        """Parse a submitted text; markup, CSV and e-mail become readable text."""
        kind = await _run_in_thread_if_large(len(text), lambda: detect_text_kind(text))
        try:
            return await self._parse_textual(kind, text, None)
        except UnparsableFileError:
            # The kind was only a guess, so a refusal by its parser leaves a plain text.
            return ParsedDocument(text=text, type="text", title=document_title(text, "text", filename=None))

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def _parse_binary(self, kind: str, data: bytes, upload: Upload) -> ParsedDocument:
        try:
            parsed = await self._parse_in_worker(kind, data, upload.filename)
        except UnparsableFileError as error:
            if kind == "pdf" and isinstance(error, EmptyFileError) and self._recognizes_text:
                return await self._recognize_paged("pdf", data, upload, None)
            if data[:1024].lstrip()[:5] == b"%PDF-" or data[:2] == b"PK":
                raise
            # A document by its name but without the signature: possibly a text with a wrong name.
            return await self._parse_misnamed(data, upload, error)
        if kind == "pdf" and self._recognizes_text and not all(split_pages(parsed.text)):
            return await self._recognize_paged("pdf", data, upload, parsed)
        return parsed

    async def _parse_misnamed(self, data: bytes, upload: Upload, error: UnparsableFileError) -> ParsedDocument:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise error from None
        return await self._parse_textual(detect_text_kind(text), text, upload.filename)

    async def _parse_textual(self, kind: str, text: str, filename: str | None) -> ParsedDocument:
        _require_allowed_length(len(text))
        if kind in PARSER_MIME_TYPES:
            return await self._parse_in_worker(kind, text.encode(errors="replace"), filename)
        if is_calendar(text) or is_contact(text):
            return await _run_in_thread_if_large(len(text), lambda: _listed(text, filename))
        conversation = None
        if kind in {"json", "chat"}:
            conversation = await _run_in_thread_if_large(len(text), lambda: chat_as_transcript(text))
        text, kind = (conversation, "chat") if conversation is not None else (text, kind)
        return ParsedDocument(text=text, type=kind, title=document_title(text, kind, filename=filename))

    async def _parse_in_worker(self, kind: str, data: bytes, filename: str | None) -> ParsedDocument:
        output = "plain" if kind in {"email", "rtf"} else "markdown"
        if kind == "notebook":
            data = _ANSI_SEQUENCE.sub(b"", data)
        try:
            parsed = await self._pool.parse(data, mime=PARSER_MIME_TYPES[kind], filename=filename, output=output)
        except UnparsableFileError as error:
            raise UnparsableFileError(_parser_error_message(kind, str(error))) from error
        found = strip_blank(parsed.text.replace("\x00", ""))
        is_plain = output == "plain" or kind == "notebook"
        text = found if is_plain else await _run_in_thread_if_large(len(found), lambda: without_needless_escapes(found))
        if not text.strip():
            raise EmptyFileError(_EMPTY_REASONS.get(kind, f"No text was found in the {kind} file."))
        _require_allowed_length(len(text))
        own_title = parsed.subject if kind == "email" else parsed.title
        metadata_title = page_title(data) if kind == "webpage" else own_title
        return ParsedDocument(
            text=text,
            type=_SHOWN_TYPES.get(kind, kind),
            title=document_title(text, kind, metadata_title=metadata_title, filename=filename),
        )

    async def _parse_archive(self, data: bytes, upload: Upload, left: "_ArchiveLimits") -> ParsedDocument:
        """Parse each file of an archive under its name; those that can't be read are named with the reason."""
        texts, unread = [], []
        for file in await _unpack(data, upload.filename, left):
            problem = file.problem
            if problem is None and asyncio.get_running_loop().time() > left.ends_at:
                problem = f"reading the archive took longer than {ARCHIVE_SECONDS:g} s"
            if problem is None:
                try:
                    texts.append(f"# {file.name}\n\n{await self._parse_member(file, upload, left)}")
                except ParsingError as error:
                    problem = str(error)
            _require_allowed_length(sum(map(len, texts)))
            if problem is not None:
                unread.append(f"- {file.name}: {problem}")
        if not texts:
            reasons = "; ".join(line.removeprefix("- ") for line in unread[:3]) or "it is empty"
            raise ParsingError(f"The archive holds no file that can be read: {reasons}")
        text = "\n\n".join([*texts, *(["# Files that were not read", "\n".join(unread)] if unread else [])])
        _require_allowed_length(len(text))
        return ParsedDocument(text=text, type="archive", title=upload.filename)

    async def _parse_member(self, file: ArchiveFile, upload: Upload, left: "_ArchiveLimits") -> str:
        named = upload.model_copy(update={"filename": file.name, "mime_type": file.mime_type, "file_type": None})
        kind = await _run_in_thread_if_large(len(file.data), lambda: detect_file_kind(file.data, named))
        if kind != "archive":
            # Pages of one file of many: their numbers would be taken for those of the archive.
            return without_page_breaks((await self._parse_by_kind(kind, file.data, named)).text)
        if left.nesting == 0:
            raise ParsingError("an archive too deep inside archives")
        left.nesting -= 1
        try:
            return (await self._parse_archive(file.data, named, left)).text
        finally:
            left.nesting += 1

    async def _recognize_image(self, data: bytes, upload: Upload) -> ParsedDocument:
        if data[4:12] in _HEIC:
            raise UnparsableFileError("Pictures in HEIC format are not read. Send it as JPEG or PNG.")
        if optical_recognition.is_paged_image(data):
            return await self._recognize_paged("image", data, upload, None)
        text = (await self._recognize("image", data)).text.strip()
        if not text:
            raise UnparsableFileError("No text was recognized in the image.")
        return _recognized("image", text, upload)

    async def _recognize_paged(
        self, kind: str, data: bytes, upload: Upload, parsed: ParsedDocument | None
    ) -> ParsedDocument:
        """Recognize the pages that have no text of their own; `parsed`: what the others say."""
        texts = dict(enumerate(split_pages(parsed.text) if parsed else ()))
        try:
            visible = (await self._recognize(kind, data)).pages
        except ParsingError:  # also a worker that died or took too long: what was read stays
            if parsed is None:
                raise
            return parsed
        unread = await self._recognize_pages(kind, data, [page for page in visible if not texts.get(page)], texts)
        if not any(texts.values()):
            raise UnparsableFileError("; ".join([f"No text was recognized in the {kind}.", *unread]))
        pages = (texts.get(page, "") for page in range(max(texts) + 1))
        text = texts[0] if kind == "image" and len(visible) == 1 else join_pages(pages)
        return _recognized(kind, "\n\n".join([text, *unread]), upload, parsed)

    async def _recognize_pages(self, kind: str, data: bytes, waiting: list[int], texts: dict[int, str]) -> list[str]:
        """Add the texts of the pages in `waiting`, a few per request; return notes about those that can't be read."""
        ends_at = asyncio.get_running_loop().time() + RECOGNITION_SECONDS
        size, unread = optical_recognition.PAGES_PER_REQUEST, []
        readable, waiting = waiting[: optical_recognition.MAX_PAGES], waiting[optical_recognition.MAX_PAGES :]
        while readable and asyncio.get_running_loop().time() <= ends_at:
            pages, readable = readable[:size], readable[size:]
            try:
                found = split_pages((await self._recognize(kind, data, pages)).text)
            except ParsingError as error:
                unread.append(_not_read(pages, str(error)))
            else:
                texts |= dict(zip(pages, (text.replace("\x00", "") for text in found), strict=True))
        if readable:
            unread.append(_not_read(readable, f"recognition took longer than {RECOGNITION_SECONDS:g} s"))
        if waiting:
            unread.append(_not_read(waiting, f"a document has more than {optical_recognition.MAX_PAGES} scanned pages"))
        return unread

    async def _recognize(self, kind: str, data: bytes, pages: Sequence[int] = ()) -> ParserResult:
        is_paged = optical_recognition.is_paged_image(data)
        mime = "application/pdf" if kind == "pdf" else "image/tiff" if is_paged else "image/*"
        try:
            return await self._pool.recognize(data, mime=mime, pages=pages)
        except UnparsableFileError as error:
            raise UnparsableFileError(_parser_error_message(kind, str(error))) from error

    async def _describe_media(self, kind: str, data: bytes, upload: Upload) -> ParsedDocument:
        if kind == "image" and is_svg(data):
            return await _run_in_thread_if_large(len(data), lambda: _drawing(data, upload))
        if kind == "image" and self._media_model is None and self._recognizes_text:
            return await self._recognize_image(data, upload)
        if self._media_model is None or kind == "video":
            raise ParsingError(_MEDIA_REFUSALS[kind])
        if kind == "image":
            text = await self._media_model.describe(data, _image_mime_type(data, upload))
        else:
            text = await self._media_model.transcribe(data, upload.filename or "audio")
        if not text.strip():
            raise ParsingError(f"The configured model returned no text for the {kind}.")
        title = document_title(text, kind, filename=upload.filename)
        return ParsedDocument(text=text.strip(), type=kind, title=title)


@dataclass(slots=True)
class _ArchiveLimits:
    """Time, bytes and depth that are left for an archive and all archives inside it together."""

    ends_at: float
    room: int
    nesting: int = MAX_NESTING


async def _unpack(data: bytes, name: str | None, left: _ArchiveLimits) -> list[ArchiveFile]:
    try:
        files = await asyncio.to_thread(lambda: list(read_archive(data, name, left.room)))
    except DAMAGED as error:
        raise ParsingError(f"The archive can't be unpacked: it is damaged ({error}).") from error
    left.room -= sum(len(file.data) for file in files)
    return files


def _recognized(kind: str, text: str, upload: Upload, parsed: ParsedDocument | None = None) -> ParsedDocument:
    text = strip_blank(text.replace("\x00", ""))
    _require_allowed_length(len(text))
    title = parsed.title if parsed else None
    return ParsedDocument(text=text, type=kind, title=title or document_title(text, kind, filename=upload.filename))


def _not_read(pages: Sequence[int], reason: str) -> str:
    """Say which pages were not read.

    >>> _not_read([2, 4, 5], "damaged")
    '[pages 3, 5-6 were not read: damaged]'
    """
    runs: list[list[int]] = []
    for page in pages:
        if runs and runs[-1][-1] == page - 1:
            runs[-1].append(page)
        else:
            runs.append([page])
    named = ", ".join(f"{run[0] + 1}" if len(run) == 1 else f"{run[0] + 1}-{run[-1] + 1}" for run in runs)
    return f"[pages {named} were not read: {reason}]"


def without_needless_escapes(text: str) -> str:
    r"""Write phone numbers, paths, tags and numbered titles as they stand in the file; code stays as it is.

    >>> print(without_needless_escapes(r"1\. Call \+47 900 for \#12 in C:\\temp, `a\.b`."))
    1. Call +47 900 for #12 in C:\temp, `a\.b`.
    """
    return _ESCAPED.sub(lambda found: found[1] or found[2] or found[0], text)


def _listed(text: str, filename: str | None) -> ParsedDocument:
    """Read the events of a calendar, or contacts; the first of many gives no title."""
    kind = "contacts" if is_contact(text) else "calendar"
    title, listed = contacts_to_text(text) if kind == "contacts" else (calendar_title(text), calendar_to_text(text))
    title = title or document_title(listed or text, kind, filename=filename)
    return ParsedDocument(text=listed or text, type=kind, title=title)


def _drawing(data: bytes, upload: Upload) -> ParsedDocument:
    title, text = read_svg(data)
    if not text:
        raise ParsingError("The drawing holds no title, description or label. Send its text, or an image of it.")
    _require_allowed_length(len(text))
    return ParsedDocument(
        text=text, type="image", title=document_title(text, "image", metadata_title=title, filename=upload.filename)
    )


_SHOWN_TYPES = {"notebook": "markdown"}
_HEIC = frozenset({b"ftypheic", b"ftypheix", b"ftypheim", b"ftyphevc", b"ftypmif1", b"ftypmsf1"})
"""Beginnings of the pictures of iPhones, which Pillow does not open."""
_UNTYPED_CONTAINERS = frozenset({"ole", "encrypted", "archive", "packed"})
_MEDIA_REFUSALS = {
    "image": "Images need a model that describes them, or text recognition: set RECOLLECT_LLM_BASE_URL and "
    "RECOLLECT_LLM_MODEL to an endpoint with vision, install recollect[ocr], or send the image's text.",
    "audio": "Audio needs a model that transcribes it: set RECOLLECT_LLM_BASE_URL and RECOLLECT_LLM_MODEL "
    "to an endpoint with transcriptions, or send a transcript.",
    "video": "Videos are not supported. Send a transcript, or the sound track as an audio file "
    "(which needs RECOLLECT_LLM_BASE_URL and RECOLLECT_LLM_MODEL).",
}
_CONTAINER_REFUSALS = {
    "ole": "The file is an office document of an old format, or damaged. Save it as DOCX, PPTX, XLSX or PDF, and "
    "send it again.",
    "encrypted": "The office document is protected by a password. Remove the password and send it again.",
    "packed": "Archives of this format are not opened. Send a ZIP or TAR archive, or the files themselves.",
}
_EMPTY_REASONS = {
    "pdf": "No text was found in the PDF: it is damaged, empty or made of scanned pages, "
    "which recollect[ocr] reads. Send its text.",
    "webpage": "No text was found in the page: it may need a browser to build it. Send its text.",
}
_IMAGE_SIGNATURES = {
    b"\x89PNG": "image/png",
    b"GIF8": "image/gif",
    b"\xff\xd8\xff": "image/jpeg",
    b"RIFF": "image/webp",
}


def _parser_error_message(kind: str, detail: str) -> str:
    """Turn the parser's error into a message that says what to do."""
    if detail == NO_READER:
        return (
            f"This installation can't read {kind} files: the library for it, xberg, does not exist for this system."
            " Send the file's text, or run recollect on Linux or macOS."
        )
    lower = detail.lower()
    if "password" in lower or "encrypted" in lower:
        return f"The {kind} file is protected by a password. Remove the password and send it again."
    if "os error 11" in lower or "os error 12" in lower or "memory" in lower:
        return f"The {kind} file needs more memory than RECOLLECT_PARSE_MEMORY_MB allows. Send a part of it."
    if "security limit" in lower or "exceeds limit" in lower:
        return f"The {kind} file unpacks to far more than its size and was refused ({detail[:200]})."
    return f"The {kind} file can't be read: it is damaged, or of another type ({_OBJECT.sub('', detail)[:200]})."


def _require_allowed_length(characters: int) -> None:
    if characters > MAX_TEXT_CHARS:
        raise ParsingError(
            f"The text has {characters:,} characters; a document may have {MAX_TEXT_CHARS:,}. "
            "Split it into several documents."
        )


def _detect_text_file_kind(text: str, upload: Upload) -> str:
    detected = detect_text_kind(text)
    named_plain = kind_from_hints(upload) == "text" and upload.filename is not None
    # Trust the name of a .txt file, except for HTML and conversations, which gain from conversion.
    return detected if not named_plain or is_html(text[:1024]) or detected == "chat" else "text"


def page_title(data: bytes) -> str | None:
    """Return the title element of a page. (The parser's own option would also add it to the text.)"""
    match = _PAGE_TITLE.search(data[:65_536])
    return unescape(match.group(1).decode(errors="replace")) if match else None


def _image_mime_type(data: bytes, upload: Upload) -> str:
    declared = (upload.mime_type or "").split(";")[0]
    detected = next((mime for mark, mime in _IMAGE_SIGNATURES.items() if data.startswith(mark)), None)
    return detected or (declared if declared.startswith("image/") else "image/png")


async def _run_in_thread_if_large(size: int, work: Callable[[], T]) -> T:
    return work() if size <= MAX_INLINE_SIZE else await asyncio.to_thread(work)
