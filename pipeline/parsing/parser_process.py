"""The process that parses files: `python -m pipeline.parsing.parser_process <memory in MB>`.

The worker reads requests from stdin and writes answers to stdout, one at a time, until stdin ends. A message
is two lengths (4 and 8 bytes, big-endian), a JSON header and a body. The parent kills a worker that takes too
long; a limit on the address space stops decompression bombs; the worker dies with its parent.
"""

import asyncio
import ctypes
import json
import os
import signal
import struct
import sys
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from pipeline.text.page_breaks import join_pages

if TYPE_CHECKING:
    from pipeline.parsing.mail.mail_file import MailFile
    from pipeline.parsing.mail.mail_text import MailPart

FRAME_LENGTHS = struct.Struct(">IQ")
"""The lengths of header and body."""
SLIDES_MIME_TYPE: Final = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
WORD_MIME_TYPE: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SHEETS_MIME_TYPE: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
OPEN_SLIDES_MIME_TYPE: Final = "application/vnd.oasis.opendocument.presentation"
PAGED_MIME_TYPES: Final = frozenset({"application/pdf", SLIDES_MIME_TYPE})
RECOGNIZED_BY_PAGE: Final = frozenset({"application/pdf", "image/tiff"})
MAIL_MIME_TYPE: Final = "message/rfc822"
RTF_BODY_TYPE: Final = "text/rtf"
_MAX_ATTACHMENTS: Final = 50
NO_READER = "xberg is not installed"
"""Error of every request where the library has no wheel, as on Windows."""
_OCR_BYTES = 2 << 30
"""Address space of the OCR libraries, models and their threads, on top of the limit."""
_PR_SET_PDEATHSIG = 1


def encode_frame(header: dict[str, Any], body: bytes) -> bytes:
    head = json.dumps(header).encode()
    return FRAME_LENGTHS.pack(len(head), len(body)) + head + body


def main() -> None:
    """Serve until stdin ends."""
    die_with_parent()
    answers = take_answer_pipe()
    xberg = _import_parser()
    extra_bytes = int(sys.argv[1]) * 1024 * 1024
    limit_memory(extra_bytes)
    with asyncio.Runner() as runner:
        while (request := read_frame(sys.stdin.buffer)) is not None:
            if request[0].get("ocr"):
                answers.write(_recognize(*request))
                limit_memory(extra_bytes)
            else:
                answers.write(runner.run(_parse_request(xberg, *request)))
            answers.flush()


def take_answer_pipe() -> BinaryIO:
    """Keep stdout for answers: send the prints of native libraries to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _import_parser() -> Any:
    """Return the library; None where it is not installed. The parent imports only the message format."""
    try:
        return import_module("xberg")
    except ImportError:
        return None


async def _parse_request(xberg: Any, header: dict[str, Any], body: bytes) -> bytes:
    """Parse a file; encode `{"ok": true, "title", "subject"}` with the text, or `{"ok": false, "error"}`."""
    if xberg is None:
        return encode_frame({"ok": False, "error": NO_READER}, b"")
    config = xberg.ExtractionConfig(
        use_cache=False,
        disable_ocr=True,
        enable_quality_processing=False,
        output_format=header["output"],
        html_options=xberg.ConversionOptions(extract_metadata=False),
        pages=xberg.PageConfig(extract_pages=True) if header["mime"] in PAGED_MIME_TYPES else None,
        pdf_options=xberg.PdfConfig(extract_annotations=True),
    )
    if header["mime"] == MAIL_MIME_TYPE:
        return await _parse_mail(xberg, config, body)
    source = _input(xberg, body, header["mime"], header["filename"])
    try:
        result = await xberg.extract(source, config)
    except (RuntimeError, ValueError, OSError, MemoryError) as error:
        return encode_frame({"ok": False, "error": str(error)}, b"")
    if result.errors or not result.results:
        return encode_frame({"ok": False, "error": "; ".join(e.message for e in result.errors)}, b"")
    document = result.results[0]
    details = {"ok": True, "title": document.metadata.title, "subject": document.metadata.subject}
    text = document.content
    if header["mime"] in PAGED_MIME_TYPES:
        text = _join_pages(document, body, header["mime"])
    elif header["mime"] == OPEN_SLIDES_MIME_TYPE:
        from pipeline.parsing.office.slides import read_open_slides  # noqa: PLC0415 - only presentations need it

        text = join_pages(read_open_slides(body)) or text
    return encode_frame(details, text.encode(errors="replace"))


def _input(xberg: Any, data: bytes, media_type: str, filename: str | None) -> Any:
    """Return a file as the library reads it, with what its readers see of it and without what they do not."""
    if media_type == SHEETS_MIME_TYPE:
        from pipeline.parsing.office.number_formats import show_formatted_numbers  # noqa: PLC0415 - only sheets need it

        data = show_formatted_numbers(data)
    elif media_type == WORD_MIME_TYPE:
        from pipeline.parsing.office.hidden_text import without_hidden_text  # noqa: PLC0415 - only Word's files need it

        data = without_hidden_text(data)
    return xberg.ExtractInput(kind="bytes", bytes=data, mime_type=media_type, filename=filename)


def _join_pages(document: Any, body: bytes, mime: str) -> str:
    """Join the pages of a PDF with what was filled in and noted, or the slides of a presentation with their notes."""
    texts = {page.page_number: page.content.strip() for page in document.pages or ()}
    if not texts:
        return str(document.content)
    pages = [texts.get(number, "") for number in range(1, max(texts) + 1)]
    if mime == SLIDES_MIME_TYPE:
        from pipeline.parsing.office.slides import arrange_slides  # noqa: PLC0415 - only presentations need it

        return join_pages(arrange_slides(body, pages))
    from pipeline.parsing.pdf_pages.page_additions import additions  # noqa: PLC0415 - only PDFs need it
    from pipeline.parsing.pdf_pages.table_rows import with_table_rows  # noqa: PLC0415 - only PDFs need it

    pages = with_table_rows(body, pages)
    added = additions(document.form_fields or (), document.annotations or (), pages)
    return join_pages("\n\n".join(filter(None, (page, added.get(number)))) for number, page in enumerate(pages, 1))


def _recognize(header: dict[str, Any], body: bytes) -> bytes:
    """Recognize the text of an image, or of the pages `header["pages"]` of a file; with none, name those to read."""
    from pipeline.parsing import optical_recognition as ocr  # noqa: PLC0415 - an extra, and a second of imports

    _make_room_for_ocr()
    try:
        if header["mime"] not in RECOGNIZED_BY_PAGE:
            text, pages = ocr.recognize_image(body), [0]
        elif header["pages"]:
            text, pages = join_pages(ocr.recognize_pages(body, header["pages"])), header["pages"]
        else:
            text, pages = "", ocr.visible_pages(body)
    except (ocr.UnreadableImageError, MemoryError, RuntimeError) as error:
        return encode_frame({"ok": False, "error": str(error)}, b"")
    details = {"ok": True, "title": None, "subject": None, "pages": pages}
    return encode_frame(details, text.encode(errors="replace"))


async def _parse_mail(xberg: Any, config: Any, body: bytes) -> bytes:
    """Parse a mail, also of Outlook's format; a damaged one of that is refused."""
    from pipeline.parsing.mail.msg_file import MSG_ERRORS, OLE_SIGNATURE, read_msg  # noqa: PLC0415 - only mails need it

    try:
        mail = read_msg(body) if body.startswith(OLE_SIGNATURE) else _read_mail(body)
    except MSG_ERRORS as error:
        return encode_frame({"ok": False, "error": f"{type(error).__name__}: {error}"}, b"")
    text = await _mail_with_attachments(xberg, config, mail)
    return encode_frame({"ok": True, "title": None, "subject": mail.subject or None}, text.encode(errors="replace"))


def _read_mail(body: bytes) -> "MailFile":
    from pipeline.parsing.mail.mail_file import read_mail  # noqa: PLC0415 - imports what only mails need

    return read_mail(body)


async def _mail_with_attachments(xberg: Any, config: Any, mail: "MailFile") -> str:
    """Return the text of a mail with the texts of its attachments; those that hold none are named."""
    mail = replace(mail, root=await _with_rtf_as_text(xberg, config, mail.root))
    names, texts = [], []
    for number, attached in enumerate(mail.attachments):
        found = await _attachment_text(xberg, config, attached) if number < _MAX_ATTACHMENTS else ""
        names.append(attached.name if found else f"{attached.name} (not read)")
        texts += [f"## {attached.name}\n\n{found}"] if found else []
    listed = [f"Attachments: {', '.join(names)}"] if names else []
    return "\n\n".join([mail.text, *listed, *texts])


async def _with_rtf_as_text(xberg: Any, config: Any, part: "MailPart") -> "MailPart":
    """Convert the bodies that are RTF, which Outlook writes beside or in place of other ones."""
    children = tuple([await _with_rtf_as_text(xberg, config, child) for child in part.children])
    if part.media_type != RTF_BODY_TYPE or not part.is_text:
        return replace(part, children=children)
    text = await _extract_text(xberg, config, part.data or b"", "application/rtf", "body.rtf")
    return replace(part, data=text.encode(errors="replace"), charset="utf-8")


async def _attachment_text(xberg: Any, config: Any, attached: "MailPart") -> str:
    """Return the text of an attachment, "" if it has none or can't be read."""
    from pipeline.parsing.mail.contact_text import contacts_to_text, is_contact  # noqa: PLC0415 - see above
    from pipeline.parsing.mail.mail_text import decode_text  # noqa: PLC0415 - see above
    from pipeline.parsing.mail.msg_file import MSG_ERRORS, is_msg_file, read_msg  # noqa: PLC0415 - see above

    if attached.media_type.startswith("text/") and attached.media_type != "text/html":
        text = decode_text(attached.data or b"", attached.charset).strip()
        return contacts_to_text(text)[1] or text if is_contact(text) else text
    if attached.media_type.startswith(("image/", "audio/", "video/")):
        return ""
    data = attached.data or b""
    if is_msg_file(data):
        try:
            return (await _mail_with_attachments(xberg, config, read_msg(data))).strip()
        except MSG_ERRORS:
            return ""
    if attached.filename.lower().endswith(".eml"):
        return (await _mail_with_attachments(xberg, config, _read_mail(data))).strip()
    return await _extract_text(xberg, config, data, attached.media_type, attached.name)


async def _extract_text(xberg: Any, config: Any, data: bytes, media_type: str, filename: str) -> str:
    """Return the text of a file, "" if it has none or can't be read."""
    try:
        result = await xberg.extract(_input(xberg, data, media_type, filename), config)
    except (RuntimeError, ValueError, OSError, MemoryError):
        return ""
    return str(result.results[0].content).strip() if result.results and not result.errors else ""


def read_frame(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """Read the next message; None at the end of the stream."""
    lengths = stream.read(FRAME_LENGTHS.size)
    if len(lengths) < FRAME_LENGTHS.size:
        return None
    head, body = FRAME_LENGTHS.unpack(lengths)
    return json.loads(stream.read(head)), stream.read(body)


def limit_memory(extra_bytes: int) -> None:
    """Limit the address space to its present size plus `extra_bytes`; only OCR may go beyond, to a fixed highest."""
    if sys.platform != "linux":
        return
    import resource  # noqa: PLC0415 - Windows has no such module

    with open("/proc/self/statm") as statm:  # noqa: PTH123 - one line of a pseudo file
        used = int(statm.read().split()[0]) * resource.getpagesize()
    limit = used + extra_bytes
    _, highest = resource.getrlimit(resource.RLIMIT_AS)
    highest = limit + _OCR_BYTES if highest == resource.RLIM_INFINITY else highest
    resource.setrlimit(resource.RLIMIT_AS, (min(limit, highest), highest))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _make_room_for_ocr() -> None:
    """Raise the limit for a request by what the libraries and models of the `ocr` extra take."""
    if sys.platform != "linux":
        return
    import resource  # noqa: PLC0415 - Windows has no such module

    _, highest = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (highest, highest))


def die_with_parent() -> None:
    """Ask the Linux kernel to kill the worker with its parent; elsewhere the end of stdin ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
