"""Outlook's .msg files read as mails are: senders, bodies of each kind, files, mails inside, appointments."""

import struct
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.parsing.document_parser import FileParser
from pipeline.parsing.file_types import detect_file_kind
from pipeline.parsing.mail.compressed_rtf import RtfError, decompress_rtf
from pipeline.parsing.mail.msg_file import MSG_ERRORS, is_msg_file, read_msg
from pipeline.parsing.parser_pool import ParserPool
from schemas.events import BlobRef, Upload
from tests.support.outlook_samples import Properties, attached_message, attachment, msg_file, recipient
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

RECORDED = Path(__file__).parents[3] / "data" / "outlook" / "recorded.msg"
SENT = datetime(2026, 1, 5, 10, tzinfo=UTC)
RTF = rb"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Arial;}}\pard The harbour is \b closed\b0  on Monday.\par}"


@pytest.fixture
async def files() -> AsyncIterator[FileParser]:
    parser = FileParser(ParserPool(max_workers=1, timeout_seconds=WAIT_TIMEOUT_SECONDS, memory_limit_mb=700))
    yield parser
    await parser.aclose()


def mail(**more: object) -> Properties:
    """A mail from Ada to Bob and Carol."""
    people = {
        "__recip_version1.0_#00000000": recipient("Bob", "bob@example.com", 1),
        "__recip_version1.0_#00000001": recipient("carol@example.com", "carol@example.com", 2),
    }
    storages = people | more.pop("storages", {})  # type: ignore[operator]  # a mapping
    texts = {0x001A: "IPM.Note", 0x0037: "Café", 0x0042: "Ada", 0x5D02: "ada@example.com", 0x1000: "See you there."}
    return Properties(
        texts=texts | more.pop("texts", {}),  # type: ignore[operator]  # as above
        times={0x0039: SENT},
        storages=storages,
        **more,  # type: ignore[arg-type]  # as above
    )


def uncompressed(rtf: bytes) -> bytes:
    """The container of an RTF that is not compressed."""
    return struct.pack("<IIII", len(rtf) + 12, len(rtf), 0x414C454D, 0) + rtf


async def parse(files: FileParser, data: bytes, name: str = "a.msg") -> str:
    blob = BlobRef(sha256="0" * 64, size=len(data), media_type="application/vnd.ms-outlook")
    document = await files.parse_file(data, Upload(blob=blob, filename=name, mime_type=None))
    assert document.type == "email"
    return document.text


def test_a_mail_has_its_people_its_time_and_its_text() -> None:
    found = read_msg(msg_file(mail()))
    assert found.text == (
        "Subject: Café\nFrom: Ada <ada@example.com>\nTo: Bob <bob@example.com>\nCc: carol@example.com\n"
        "Date: Mon, 05 Jan 2026 10:00:00 +0000\n\nSee you there."
    )


def test_a_file_of_another_program_is_read() -> None:
    found = read_msg(RECORDED.read_bytes())
    assert found.text == (
        "Subject: creating an outlook message file\nFrom: from@domain.com\nTo: to@domain.com\n\n"
        "This message is created by Aspose.Email"
    )


def test_an_address_of_a_directory_is_left_out() -> None:
    directory = {0x0C1A: "Ada", 0x0C1F: "/O=EXAMPLE/OU=EXCHANGE/CN=RECIPIENTS/CN=ADA", 0x0042: "", 0x5D02: ""}
    assert "From: Ada\n" in read_msg(msg_file(mail(texts=directory))).text


def test_headers_of_the_transport_come_first_and_none_of_them_is_text() -> None:
    headers = (
        "From: =?utf-8?q?Ad=C3=A0?= <ada@example.com>\r\nX-Mailer: Foo\r\nDate: Tue, 6 Jan 2026 10:00:00 +0100\r\n\r\n"
    )
    text = read_msg(msg_file(mail(texts={0x007D: headers}))).text
    assert "From: Adà <ada@example.com>" in text
    assert "Tue, 6 Jan 2026" in text
    assert "Foo" not in text


def test_a_body_in_html_says_more_than_a_stub() -> None:
    page = "<html><body><h1>Plan</h1><p>We open at nine, and close at fünf.</p></body></html>".encode("cp1252")
    found = read_msg(msg_file(mail(binaries={0x1013: page}, integers={0x3FDE: 1252})))
    assert "close at fünf" in found.text
    assert "See you there" not in found.text


def test_narrow_texts_have_the_charset_of_the_file() -> None:
    narrow = {0x0037: "Встреча".encode("cp1251"), 0x1000: "Привет".encode("cp1251")}
    found = read_msg(msg_file(Properties(narrow_texts=narrow, integers={0x3FFD: 1251})))
    assert found.subject == "Встреча"
    assert found.text.endswith("Привет")


@pytest.mark.anyio
async def test_a_body_that_is_rtf_only_is_read(files: FileParser) -> None:
    text = await parse(files, msg_file(mail(texts={0x1000: ""}, binaries={0x1009: uncompressed(RTF)})))
    assert "The harbour is closed on Monday." in text


@pytest.mark.anyio
async def test_files_and_mails_inside_are_read_and_pictures_named(files: FileParser) -> None:
    inner = mail(texts={0x0037: "Inner", 0x1000: "The inner text."})
    inside = {
        "__attach_version1.0_#00000000": attachment("notes.txt", b"Lighthouses are white."),
        "__attach_version1.0_#00000001": attachment("logo.png", b"\x89PNG\r\n\x1a\n" + bytes(5000), "image/png"),
        "__attach_version1.0_#00000002": attached_message(inner),
        "__attach_version1.0_#00000003": attachment("old.msg", msg_file(mail(texts={0x1000: "From a file."}))),
        "__attach_version1.0_#00000004": attachment("x.eml", b"From: a@b.c\nX-Foo: no\nSubject: S\n\nFrom an eml."),
    }
    text = await parse(files, msg_file(mail(storages=inside)))
    assert "Forwarded message" in text
    assert "The inner text." in text
    assert "Attachments: notes.txt, logo.png (not read), old.msg, x.eml" in text
    assert "Lighthouses are white." in text
    assert "From a file." in text
    assert "From an eml." in text
    assert "X-Foo" not in text


def test_an_appointment_has_its_time_and_place() -> None:
    meeting = mail(
        texts={0x001A: "IPM.Schedule.Meeting.Request", 0x8002: "Pier 3"},
        named_appointment=(0x820D, 0x820E, 0x8208),
    )
    meeting.times = {
        0x0039: SENT,
        0x8000: datetime(2026, 1, 7, 9, tzinfo=UTC),
        0x8001: datetime(2026, 1, 7, 10, 30, tzinfo=UTC),
    }
    text = read_msg(msg_file(meeting)).text
    assert "Start: 2026-01-07 09:00 UTC\nEnd: 2026-01-07 10:30 UTC\nWhere: Pier 3" in text


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["mail.msg", "mail", "mail.bin", "mail.doc"])
async def test_the_structure_tells_a_mail_whatever_its_name(files: FileParser, name: str) -> None:
    assert "See you there." in await parse(files, msg_file(mail()), name)


@pytest.mark.anyio
async def test_a_text_that_is_named_msg_is_a_text(files: FileParser) -> None:
    blob = BlobRef(sha256="0" * 64, size=1, media_type="text/plain")
    document = await files.parse_file(b"Hello world, a text.", Upload(blob=blob, filename="de.msg", mime_type=None))
    assert document.type == "text"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_file_is_refused_or_read(data: st.DataObject) -> None:
    whole = bytearray(msg_file(mail()))
    for _ in range(data.draw(st.integers(1, 20))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    del whole[data.draw(st.integers(600, len(whole))) :]
    with suppress(*MSG_ERRORS):
        read_msg(bytes(whole))


def test_rtf_is_decompressed_as_microsoft_describes() -> None:
    compressed = "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    assert decompress_rtf(bytes.fromhex(compressed)) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    overlapping = "1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0"
    assert decompress_rtf(bytes.fromhex(overlapping)) == b"{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}"


@pytest.mark.parametrize("data", [b"", b"{\\rtf1}", struct.pack("<IIII", 12, 1 << 31, 0x75465A4C, 0), bytes(40)])
def test_what_is_no_compressed_rtf_is_refused(data: bytes) -> None:
    with pytest.raises(RtfError):
        decompress_rtf(data)


def test_office_documents_are_no_mails() -> None:
    assert not is_msg_file(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4096))
    embedding = msg_file(mail()) + "WordDocument".encode("utf-16-le")
    for name, kind in (("a.doc", "doc"), ("a.xls", "email"), ("a.msg", "email"), ("a", "email")):
        blob = BlobRef(sha256="0" * 64, size=len(embedding))
        assert detect_file_kind(embedding, Upload(blob=blob, filename=name)) == kind
