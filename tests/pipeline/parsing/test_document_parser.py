"""Files and texts become canonical text, or an error that a person can act on."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from datetime import date
from hashlib import sha256

import anyio
import psutil
import pytest

from pipeline.errors import ParsingError
from pipeline.parsing.document_parser import FileParser
from pipeline.parsing.parser_pool import ParserPool
from pipeline.text.speaker_attribution import parse_utterances
from schemas.events import BlobRef, Upload
from schemas.limits import MAX_TEXT_CHARS
from tests.support import file_samples
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

pytestmark = pytest.mark.anyio
OLE_HEAD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.fixture
async def extractor() -> AsyncIterator[FileParser]:
    pool = ParserPool(max_workers=1, timeout_seconds=WAIT_TIMEOUT_SECONDS, memory_limit_mb=700)
    made = FileParser(pool, recognizes_text=False)
    yield made
    await made.aclose()


def upload(
    data: bytes, filename: str | None = None, mime_type: str | None = None, file_type: str | None = None
) -> Upload:
    blob = BlobRef(sha256=sha256(data).hexdigest(), size=len(data))
    return Upload(blob=blob, filename=filename, mime_type=mime_type, file_type=file_type)


async def reason(extractor: FileParser, data: bytes, filename: str | None = None) -> str:
    with pytest.raises(ParsingError) as caught:
        await extractor.parse_file(data, upload(data, filename))
    return str(caught.value)


async def test_office_files_and_pdf_become_markdown_with_their_titles(extractor: FileParser) -> None:
    cases = [
        (
            file_samples.docx("Plan", "We move to Oslo.", title="My plan"),
            "a.docx",
            "docx",
            "My plan",
            "# Plan\n\nWe move",
        ),
        (file_samples.pptx("Hello", "World one"), "deck.pptx", "pptx", "deck.pptx", "World one"),
        (
            file_samples.xlsx([["item", "cost"], ["rent", "1200"]]),
            "b.xlsx",
            "xlsx",
            "b.xlsx",
            "| rent | 1200 |",
        ),
        (
            file_samples.pdf("Invoice 42", "It is 99 euro.", title="Invoice"),
            "x.pdf",
            "pdf",
            "Invoice",
            "It is 99 euro.",
        ),
    ]
    for data, filename, kind, title, said in cases:
        found = await extractor.parse_file(data, upload(data, filename))
        assert (found.type, found.title) == (kind, title)
        assert said in found.text


async def test_office_files_keep_numbers_paths_and_tags_as_they_are_written(extractor: FileParser) -> None:
    said = "Call +47 900 11 223 for ticket #12 in C:\\temp\\app_conf, ~5 minutes."
    for data, filename in (
        (file_samples.docx("Support", said), "a.docx"),
        (file_samples.xlsx([["item", "note"], ["1", said]]), "a.xlsx"),
    ):
        found = await extractor.parse_file(data, upload(data, filename))
        assert said in found.text
    data = file_samples.docx("1. Duration", "+47 is Norway.", "# is a hash.")
    found = await extractor.parse_file(data, upload(data, "a.docx"))
    assert found.text == "# 1. Duration\n\n+47 is Norway.\n\n\\# is a hash."


async def test_an_email_has_its_subject_as_title(extractor: FileParser) -> None:
    found = await extractor.parse_file(file_samples.EMAIL, upload(file_samples.EMAIL, "x.eml"))
    assert (found.type, found.title) == ("email", "Café meeting")
    assert "we meet at noon in the café" in found.text
    assert [(utterance.speaker, utterance.said_on) for utterance in parse_utterances(found.text)] == [
        ("Alice", date(2026, 1, 5))
    ]


async def test_hidden_text_is_not_read(extractor: FileParser) -> None:
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t> The code is 4711.</w:t></w:r>"
    data = file_samples.docx_of(f"<w:p><w:r><w:t>We move to Oslo.</w:t></w:r>{hidden}</w:p>")
    assert (await extractor.parse_file(data, upload(data, "plan.docx"))).text == "We move to Oslo."


async def test_a_csv_becomes_a_table(extractor: FileParser) -> None:
    data = b"name,age\nAlice,30\nBob,41\n"
    found = await extractor.parse_file(data, upload(data, "people.csv"))
    assert (found.type, found.title) == ("csv", "people.csv")
    assert "| Alice | 30 |" in found.text


async def test_a_page_submitted_as_text_becomes_markdown_without_its_scripts(
    extractor: FileParser,
) -> None:
    found = await extractor.parse_text(file_samples.HTML)
    assert (found.type, found.title) == ("webpage", "Tide tables")
    assert found.text.startswith("# Tides")
    assert "High water at **noon**." in found.text
    assert "steal" not in found.text


async def test_a_text_that_only_looks_like_a_page_is_kept_as_it_is(extractor: FileParser) -> None:
    said = "<!DOCTYPE html><html><script>draw()</script></html>"
    kept = await extractor.parse_text(said)
    assert (kept.text, kept.type) == (said, "text")


async def test_the_content_wins_over_a_wrong_name(extractor: FileParser) -> None:
    data = file_samples.docx("Plan", "We move to Oslo.")
    found = await extractor.parse_file(data, upload(data, "plan.pdf", "application/pdf", "pdf"))
    assert found.type == "docx"
    data = b"# Notes\n\nNothing but text."
    found = await extractor.parse_file(data, upload(data, "notes.pdf"))
    assert (found.type, found.text) == ("markdown", data.decode())


async def test_texts_keep_their_characters_whatever_their_charset(extractor: FileParser) -> None:
    said = "Die Straße nach Zürich führt über größere Höhen und durch schöne Täler, sagte Jürgen abends."
    for charset in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"):
        data = said.encode(charset)
        assert (await extractor.parse_file(data, upload(data, "weg.txt"))).text == said
    data = "Привет, как дела? Мы встретимся завтра утром на вокзале и поедем в Москву.".encode("cp1251")
    assert "Москву" in (await extractor.parse_file(data, upload(data, "a.txt"))).text
    data = "Müller, Straße 5, Köln".encode("cp1252")
    assert (await extractor.parse_file(data, upload(data, "a.txt"))).text == "Müller, Straße 5, Köln"


async def test_a_page_of_another_charset_keeps_its_characters(extractor: FileParser) -> None:
    head = '<head><meta charset="windows-1252"><title>Straße</title></head>'
    page = f"<html>{head}<body><p>Größe</p></body></html>"
    data = page.encode("cp1252")
    found = await extractor.parse_file(data, upload(data, None, "text/html; charset=windows-1252"))
    assert (found.text, found.title) == ("Größe", "Straße")
    found = await extractor.parse_text(page)
    assert (found.text, found.title) == ("Größe", "Straße")


async def test_a_file_that_declares_its_charset_is_read_in_it(extractor: FileParser) -> None:
    letter = "Sehr geehrte Damen und Herren, the ferry sails at noon from the pier beside the old fish market. " * 3
    cases = [
        (
            "windows-1251",
            '<html><head><meta charset="windows-1251"></head><body><p>Гвозди {0}</p></body></html>',
            "a.html",
        ),
        (
            "shift_jis",
            (
                '<html><head><meta http-equiv="Content-Type" content="text/html; charset=x-sjis"></head>'
                "<body>受付 {0}</body></html>"
            ),
            "a.html",
        ),
        ("iso-8859-7", '<?xml version="1.0" encoding="ISO-8859-7"?><name>Καλημέρα {0}</name>', "a.xml"),
        ("koi8-r", "# -*- coding: koi8-r -*-\n# Погода {0}\nx = 1\n", "a.py"),
    ]
    for charset, text, filename in cases:
        data = text.format(letter).encode(charset)
        found = await extractor.parse_file(data, upload(data, filename))
        assert any(word in found.text for word in ("Гвозди", "受付", "Καλημέρα", "Погода")), charset
        assert "noon from the pier" in found.text
    data = f"Her page says charset=koi8-r. {letter} Größe".encode("cp1252")
    assert "Größe" in (await extractor.parse_file(data, upload(data, "a.txt"))).text


async def test_letters_that_json_escapes_are_found(extractor: FileParser) -> None:
    data = rb'{"city": "B\u00fcsum", "team": "\u7d4c\u7406 \ud83d\udeb2", "path": "C:\\users", "odd": "\u0022 \ud800"}'
    found = await extractor.parse_file(data, upload(data, "a.json"))
    assert found.text == r'{"city": "Büsum", "team": "経理 🚲", "path": "C:\\users", "odd": "\u0022 \ud800"}'
    assert json.loads(found.text) == json.loads(data)


async def test_source_code_that_is_called_a_video_is_read(extractor: FileParser) -> None:
    data = b"// Gate seven is for cattle.\nexport const gate = 7;\n"
    found = await extractor.parse_file(data, upload(data, "gate.ts", "video/mp2t"))
    assert (found.type, found.text) == ("code", data.decode())
    assert "Videos are not supported" in await reason(extractor, b"\x47\x40\x00\x10" * 200, "gate.mpg")


async def test_front_matter_names_a_markdown_file(extractor: FileParser) -> None:
    for text, title in (
        ('---\ntags: [ops]\ntitle: "Tapes: a guide"\n---\n\n# Backups\n', "Tapes: a guide"),
        ("+++\ntitle = 'Roof works'\n+++\n\n# Roof\n", "Roof works"),
        ("---\ntitle: >\n  folded\n---\n\n# Roof\n", "Roof"),
        ("---\n\nA line between rules.\n\n---\n\n# Roof\ntitle: none\n", "Roof"),
    ):
        data = text.encode()
        assert (await extractor.parse_file(data, upload(data, "a.md"))).title == title


async def test_contacts_become_readable(extractor: FileParser) -> None:
    card = (
        "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Dr. Elin Quist\r\nORG:Fjord Clinic;Cardiology\r\n"
        "TEL;TYPE=CELL,VOICE:+47 900 11 223\r\nitem1.EMAIL;type=INTERNET:elin@clinic.example\r\n"
        "item1.X-ABLabel:_$!<Work>!$_\r\nADR;TYPE=home:;;Storgata 5;Bod\u00f8;;8006;Norway\r\n"
        "NOTE:Call after 15:00\\, never on Fridays.\r\nPHOTO;ENCODING=b:/9j/4AAQ\r\n SkZJRgAB=\r\nEND:VCARD\r\n"
    )
    data = card.encode()
    found = await extractor.parse_file(data, upload(data, "elin.vcf", "text/vcard"))
    assert (found.type, found.title) == ("contacts", "Dr. Elin Quist")
    assert found.text == (
        "### Dr. Elin Quist\n\nOrganization: Fjord Clinic, Cardiology  \nPhone (cell): +47 900 11 223  \n"
        "E-mail (Work): elin@clinic.example  \nAddress (home): Storgata 5, Bodø, 8006, Norway\n\n"
        "Call after 15:00, never on Fridays."
    )
    old = (
        "BEGIN:VCARD\r\nVERSION:2.1\r\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=C3=98stby;=C3=\r\n=85se;;;\r\n"
        "TEL;CELL:+4791122334\r\nEND:VCARD\r\n"
    )
    both = data + old.encode()
    found = await extractor.parse_file(both, upload(both, "all.vcf"))
    assert found.title == "all.vcf"
    assert "### Åse Østby\n\nPhone (cell): +4791122334" in found.text


async def test_a_contact_that_a_mail_brings_is_readable(extractor: FileParser) -> None:
    card = b"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Elin Quist\r\nPHOTO;ENCODING=b:/9j/4AAQ\r\nTEL:112\r\nEND:VCARD\r\n"
    data = (
        b"From: a@x.example\r\nTo: b@x.example\r\nSubject: Card\r\nMIME-Version: 1.0\r\n"
        b"Content-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain\r\n\r\nHere it is.\r\n"
        b'--B\r\nContent-Type: text/vcard; name="elin.vcf"\r\nContent-Disposition: attachment\r\n\r\n'
        + card
        + b"--B--\r\n"
    )
    found = await extractor.parse_file(data, upload(data, "card.eml"))
    assert found.text.endswith("Attachments: elin.vcf\n\n## elin.vcf\n\n### Elin Quist\n\nPhone: 112")


async def test_a_calendar_is_named_by_its_name_or_only_event(extractor: FileParser) -> None:
    event = "BEGIN:VEVENT\nSUMMARY:Regatta\nDTSTART:20240618T180000Z\nEND:VEVENT\n"
    for lines, title in (
        (f"X-WR-CALNAME:Rowing club\n{event}{event}", "Rowing club"),
        (event, "Regatta"),
        (event * 2, "club.ics"),
    ):
        data = f"BEGIN:VCALENDAR\n{lines}END:VCALENDAR\n".encode()
        found = await extractor.parse_file(data, upload(data, "club.ics"))
        assert (found.type, found.title) == ("calendar", title)


async def test_a_notebook_has_no_colours_of_the_terminal(extractor: FileParser) -> None:
    output = {"output_type": "error", "ename": "E", "evalue": "bad", "traceback": ["\u001b[0;31mE\u001b[0m: bad plot"]}
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "source": "plot()", "outputs": [output]}
    data = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}).encode()
    found = await extractor.parse_file(data, upload(data, "a.ipynb"))
    assert "E: bad plot" in found.text
    assert "[0;31m" not in found.text


async def test_source_code_and_json_are_taken_as_they_are(extractor: FileParser) -> None:
    data = b"def double(x):\n    return 2 * x\n"
    found = await extractor.parse_file(data, upload(data, "double.py"))
    assert (found.type, found.title, found.text) == ("code", "double.py", data.decode())
    data = b'{"name": "x", "size": 3}'
    found = await extractor.parse_file(data, upload(data, "x.json"))
    assert (found.type, found.text) == ("json", data.decode())


@pytest.mark.parametrize(
    "text",
    [
        '[{"role": "user", "content": "I live in Oslo."}, {"role": "assistant", "content": "Nice."}]',
        '{"role": "user", "content": "I live in Oslo."}\n{"role": "assistant", "content": "Nice."}',
        "role,content\nuser,I live in Oslo.\nassistant,Nice.",
        "<|im_start|>user\nI live in Oslo.<|im_end|>\n<|im_start|>assistant\nNice.<|im_end|>",
    ],
)
async def test_a_chat_that_a_program_wrote_becomes_lines_with_speakers(extractor: FileParser, text: str) -> None:
    found = await extractor.parse_text(text)
    assert (found.type, found.text) == ("chat", "user: I live in Oslo.\n\nassistant: Nice.")


async def test_a_chat_keeps_its_title_and_its_speakers(extractor: FileParser) -> None:
    found = await extractor.parse_text('{"messages": [{"role": "user", "content": "I ski."}], "title": "Winter"}')
    assert (found.title, found.text) == ("Winter", "Winter\n\nuser: I ski.")
    assert [(said.speaker, said.text) for said in parse_utterances(found.text)] == [(None, "I ski.")]


async def test_a_message_keeps_its_day(extractor: FileParser) -> None:
    found = await extractor.parse_text('[{"role": "user", "content": "I ski.", "timestamp": "2026-01-05T10:00:00Z"}]')
    assert found.text == "[2026-01-05] user: I ski."


@pytest.mark.parametrize(
    "text",
    [
        '[{"role": "user", "content": "I ski."}, {"role": "assistant", "content": null, "tool_calls": [{"id": "1"}]}]',
        '[{"name": "lamp", "text": "a lamp", "price": 3}]',
        "role,content,rating\nuser,I ski.,5\nassistant,Nice.,4",
        "Notes of Monday\n<user>I ski.</user>\n<assistant>Nice.</assistant>",
    ],
)
async def test_a_chat_stays_as_it_is_where_lines_would_lose_something(extractor: FileParser, text: str) -> None:
    found = await extractor.parse_text(text)
    for word in ("tool_calls", "price", "rating", "Monday", "ski", "lamp"):
        assert (word in text) == (word in found.text)


async def test_what_cannot_be_read_says_why_and_the_next_file_works(extractor: FileParser) -> None:
    good = file_samples.pdf("Still here.")
    bad = [
        (file_samples.pdf("a", encrypted=True), "a.pdf", "password"),
        (file_samples.pdf("a")[:200], "a.pdf", "damaged"),
        (b"%PDF-1.7\n" + bytes(range(256)) * 20, "a.pdf", "can't be read"),
        (file_samples.docx("Plan", "Text")[:-80], "a.docx", "can't be read|archive"),
        (bytes(range(256)) * 20, "a.docx", "can't be read"),
        (b"", "a.txt", "empty"),
        (b"  \n ", "a.pdf", "empty"),
        (bytes(range(256)) * 20, "a.txt", "not text"),
        (OLE_HEAD + "EncryptedPackage".encode("utf-16-le"), "a.docx", "password"),
        (OLE_HEAD, "a.docx", "old format, or damaged"),
        (OLE_HEAD, "a.msg", "damaged"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(300), "a.7z", "Send a ZIP or TAR archive"),
        (file_samples.zip_bomb(), "a.docx", "unpacks to far more"),
        (b"x" * (MAX_TEXT_CHARS + 1), "a.txt", "Split it"),
    ]
    for data, filename, why in bad:
        said = await reason(extractor, data, filename)
        assert any(part in said for part in why.split("|")), (filename, said)
        assert "Still here." in (await extractor.parse_file(good, upload(good, "good.pdf"))).text


async def test_what_cannot_be_read_says_what_it_is_where_that_can_be_told(extractor: FileParser) -> None:
    for data, filename, kind in (
        (file_samples.pdf("a")[:200], "a.txt", "pdf"),
        (b"", "a.pdf", "pdf"),
        (file_samples.PNG, "a.pdf", "image"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "a.docx", "docx"),
        (file_samples.archive({}), "a.zip", None),
        (bytes(range(256)) * 20, None, None),
    ):
        with pytest.raises(ParsingError) as caught:
            await extractor.parse_file(data, upload(data, filename))
        assert caught.value.document_type == kind, filename


async def test_media_are_refused_with_the_name_of_the_setting(extractor: FileParser) -> None:
    for data, filename in (
        (file_samples.PNG, "a.png"),
        (file_samples.WAV, "a.wav"),
        (b"\0\0\0 ftypisom" + b"\0" * 99, "a.mp4"),
    ):
        assert "RECOLLECT_LLM_BASE_URL" in await reason(extractor, data, filename)


async def test_a_killed_worker_fails_its_file_and_is_replaced() -> None:
    pool = ParserPool(max_workers=1, timeout_seconds=WAIT_TIMEOUT_SECONDS)
    extractor = FileParser(pool)
    good = file_samples.pdf("Still here.")
    await extractor.parse_file(good, upload(good))
    (worker,) = pool._workers
    os.kill(worker._process.pid, signal.SIGKILL)
    assert "crashed the parser" in await reason(extractor, good)
    assert "Still here." in (await extractor.parse_file(good, upload(good))).text
    await extractor.aclose()


async def test_a_slow_file_is_stopped_and_the_next_one_works() -> None:
    pool = ParserPool(max_workers=1, timeout_seconds=WAIT_TIMEOUT_SECONDS)
    extractor = FileParser(pool)
    good = file_samples.pdf("Still here.")
    await extractor.parse_file(good, upload(good))
    (worker,) = pool._workers
    os.kill(worker._process.pid, signal.SIGSTOP)
    pool._timeout_seconds = 0.05
    assert "RECOLLECT_PARSE_TIMEOUT_SECONDS" in await reason(extractor, good)
    pool._timeout_seconds = WAIT_TIMEOUT_SECONDS
    assert "Still here." in (await extractor.parse_file(good, upload(good))).text
    await extractor.aclose()


async def test_too_little_memory_fails_the_file_not_the_service() -> None:
    extractor = FileParser(ParserPool(max_workers=1, timeout_seconds=WAIT_TIMEOUT_SECONDS, memory_limit_mb=60))
    page = f"<html><body>{'<p>word</p>' * 900_000}</body></html>".encode()
    assert "RECOLLECT_PARSE_MEMORY_MB" in await reason(extractor, page, "a.html")
    good = file_samples.pdf("Still here.")
    assert "Still here." in (await extractor.parse_file(good, upload(good))).text
    await extractor.aclose()


async def test_workers_end_with_the_extractor() -> None:
    pool = ParserPool(max_workers=2, timeout_seconds=WAIT_TIMEOUT_SECONDS)
    extractor = FileParser(pool)
    good = file_samples.pdf("Still here.")
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(extractor.parse_file, good, upload(good))
    processes = [worker._process for worker in pool._workers]
    assert 1 <= len(processes) <= 2
    await extractor.aclose()
    assert all(process.returncode is not None for process in processes)


async def test_a_worker_dies_with_a_killed_parent() -> None:
    program = (
        "import asyncio\n"
        "from pipeline.parsing.parser_pool import ParserPool\n"
        "async def main():\n"
        "    pool = ParserPool()\n"
        "    await pool.parse(b'a,b\\n1,2\\n', mime='text/csv', filename=None, output='markdown')\n"
        "    print([worker._process.pid for worker in pool._workers][0], flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=PIPE)
    assert parent.stdout is not None
    worker = psutil.Process(int(await parent.stdout.readline()))
    parent.kill()
    await parent.wait()
    await asyncio.to_thread(psutil.wait_procs, [worker], WAIT_TIMEOUT_SECONDS)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE


async def test_a_mail_of_html_is_readable(extractor: FileParser) -> None:
    data = file_samples.EMAIL.replace(b"text/plain", b"text/html").replace(b"we meet", b"<p>we <b>meet</b></p>")
    found = await extractor.parse_file(data, upload(data, "x.eml"))
    assert "meet" in found.text
    assert "<b>" not in found.text
