"""Files and texts become canonical text, or an error that a person can act on."""

import asyncio
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

from pipeline.errors import ExtractionError
from pipeline.extraction.extractor import FileExtractor
from pipeline.extraction.workers import WorkerPool
from pipeline.memory.speakers import utterances
from schemas.events import BlobRef, Upload
from schemas.limits import TEXT_CHARACTERS
from tests.patience import PATIENCE
from tests.pipeline.extraction import samples

pytestmark = pytest.mark.anyio


@pytest.fixture
async def extractor() -> AsyncIterator[FileExtractor]:
    made = FileExtractor(WorkerPool(count=1, seconds=PATIENCE, memory_mb=700))
    yield made
    await made.aclose()


def upload(
    data: bytes, filename: str | None = None, mime_type: str | None = None, file_type: str | None = None
) -> Upload:
    blob = BlobRef(sha256=sha256(data).hexdigest(), size=len(data))
    return Upload(blob=blob, filename=filename, mime_type=mime_type, file_type=file_type)


async def reason(extractor: FileExtractor, data: bytes, filename: str | None = None) -> str:
    with pytest.raises(ExtractionError) as caught:
        await extractor.file(data, upload(data, filename))
    return str(caught.value)


async def test_office_files_and_pdf_become_markdown_with_their_titles(extractor: FileExtractor) -> None:
    cases = [
        (
            samples.docx("Plan", "We move to Oslo.", title="My plan"),
            "a.docx",
            "docx",
            "My plan",
            "# Plan\n\nWe move",
        ),
        (samples.pptx("Hello", "World one"), "deck.pptx", "pptx", "deck.pptx", "World one"),
        (samples.xlsx([["item", "cost"], ["rent", "1200"]]), "b.xlsx", "xlsx", "b.xlsx", "| rent | 1200 |"),
        (
            samples.pdf("Invoice 42", "It is 99 euro.", title="Invoice"),
            "x.pdf",
            "pdf",
            "Invoice",
            "It is 99 euro.",
        ),
    ]
    for data, filename, kind, title, said in cases:
        found = await extractor.file(data, upload(data, filename))
        assert (found.type, found.title) == (kind, title)
        assert said in found.text


async def test_an_email_has_its_subject_as_title(extractor: FileExtractor) -> None:
    found = await extractor.file(samples.EMAIL, upload(samples.EMAIL, "x.eml"))
    assert (found.type, found.title) == ("email", "Café meeting")
    assert "we meet at noon in the café" in found.text
    assert [(one.speaker, one.on) for one in utterances(found.text)] == [("Alice", date(2026, 1, 5))]


async def test_a_csv_becomes_a_table(extractor: FileExtractor) -> None:
    data = b"name,age\nAlice,30\nBob,41\n"
    found = await extractor.file(data, upload(data, "people.csv"))
    assert (found.type, found.title) == ("csv", "people.csv")
    assert "| Alice | 30 |" in found.text


async def test_a_page_submitted_as_text_becomes_markdown_without_its_scripts(
    extractor: FileExtractor,
) -> None:
    found = await extractor.text(samples.HTML)
    assert (found.type, found.title) == ("webpage", "Tide tables")
    assert found.text.startswith("# Tides")
    assert "High water at **noon**." in found.text
    assert "steal" not in found.text


async def test_a_text_that_only_looks_like_a_page_is_kept_as_it_is(extractor: FileExtractor) -> None:
    said = "<!DOCTYPE html><html><script>draw()</script></html>"
    kept = await extractor.text(said)
    assert (kept.text, kept.type) == (said, "text")


async def test_the_content_wins_over_a_wrong_name(extractor: FileExtractor) -> None:
    data = samples.docx("Plan", "We move to Oslo.")
    found = await extractor.file(data, upload(data, "plan.pdf", "application/pdf", "pdf"))
    assert found.type == "docx"
    data = b"# Notes\n\nNothing but text."
    found = await extractor.file(data, upload(data, "notes.pdf"))
    assert (found.type, found.text) == ("markdown", data.decode())


async def test_texts_keep_their_characters_whatever_their_charset(extractor: FileExtractor) -> None:
    said = "Die Straße nach Zürich führt über größere Höhen und durch schöne Täler, sagte Jürgen abends."
    for charset in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"):
        data = said.encode(charset)
        assert (await extractor.file(data, upload(data, "weg.txt"))).text == said
    data = "Привет, как дела? Мы встретимся завтра утром на вокзале и поедем в Москву.".encode("cp1251")
    assert "Москву" in (await extractor.file(data, upload(data, "a.txt"))).text
    data = "Müller, Straße 5, Köln".encode("cp1252")
    assert (await extractor.file(data, upload(data, "a.txt"))).text == "Müller, Straße 5, Köln"


async def test_a_page_of_another_charset_keeps_its_characters(extractor: FileExtractor) -> None:
    head = '<head><meta charset="windows-1252"><title>Straße</title></head>'
    page = f"<html>{head}<body><p>Größe</p></body></html>"
    data = page.encode("cp1252")
    found = await extractor.file(data, upload(data, None, "text/html; charset=windows-1252"))
    assert (found.text, found.title) == ("Größe", "Straße")
    found = await extractor.text(page)
    assert (found.text, found.title) == ("Größe", "Straße")


async def test_source_code_and_json_are_taken_as_they_are(extractor: FileExtractor) -> None:
    data = b"def double(x):\n    return 2 * x\n"
    found = await extractor.file(data, upload(data, "double.py"))
    assert (found.type, found.title, found.text) == ("code", "double.py", data.decode())
    data = b'{"name": "x", "size": 3}'
    found = await extractor.file(data, upload(data, "x.json"))
    assert (found.type, found.text) == ("json", data.decode())


async def test_a_conversation_in_json_becomes_lines_with_speakers(extractor: FileExtractor) -> None:
    text = '[{"role": "user", "content": "I live in Oslo."}, {"role": "assistant", "content": "Nice."}]'
    found = await extractor.text(text)
    assert (found.type, found.text) == ("chat", "user: I live in Oslo.\n\nassistant: Nice.")


async def test_what_cannot_be_read_says_why_and_the_next_file_works(extractor: FileExtractor) -> None:
    good = samples.pdf("Still here.")
    bad = [
        (samples.pdf("a", encrypted=True), "a.pdf", "password"),
        (samples.pdf("a")[:200], "a.pdf", "damaged"),
        (b"%PDF-1.7\n" + bytes(range(256)) * 20, "a.pdf", "can't be read"),
        (samples.docx("Plan", "Text")[:-80], "a.docx", "can't be read|archive"),
        (bytes(range(256)) * 20, "a.docx", "can't be read"),
        (b"", "a.txt", "empty"),
        (b"  \n ", "a.pdf", "empty"),
        (bytes(range(256)) * 20, "a.txt", "not text"),
        (samples.archive({"a.txt": "x"}), "a.zip", "archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "a.docx", "password"),
        (samples.zip_bomb(), "a.docx", "unpacks to far more"),
        (b"x" * (TEXT_CHARACTERS + 1), "a.txt", "Split it"),
    ]
    for data, filename, why in bad:
        said = await reason(extractor, data, filename)
        assert any(part in said for part in why.split("|")), (filename, said)
        assert "Still here." in (await extractor.file(good, upload(good, "good.pdf"))).text


async def test_what_cannot_be_read_says_what_it_is_where_that_can_be_told(extractor: FileExtractor) -> None:
    for data, filename, kind in (
        (samples.pdf("a")[:200], "a.txt", "pdf"),
        (b"", "a.pdf", "pdf"),
        (samples.PNG, "a.pdf", "image"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "a.docx", "docx"),
        (samples.archive({"a.txt": "x"}), "a.zip", None),
        (bytes(range(256)) * 20, None, None),
    ):
        with pytest.raises(ExtractionError) as caught:
            await extractor.file(data, upload(data, filename))
        assert caught.value.kind == kind, filename


async def test_media_are_refused_with_the_name_of_the_setting(extractor: FileExtractor) -> None:
    for data, filename in (
        (samples.PNG, "a.png"),
        (samples.WAV, "a.wav"),
        (b"\0\0\0 ftypisom" + b"\0" * 99, "a.mp4"),
    ):
        assert "RECOLLECT_LLM_BASE_URL" in await reason(extractor, data, filename)


async def test_a_killed_worker_fails_its_file_and_is_replaced() -> None:
    pool = WorkerPool(count=1, seconds=PATIENCE)
    extractor = FileExtractor(pool)
    good = samples.pdf("Still here.")
    await extractor.file(good, upload(good))
    (worker,) = pool._all
    os.kill(worker._process.pid, signal.SIGKILL)
    assert "crashed the parser" in await reason(extractor, good)
    assert "Still here." in (await extractor.file(good, upload(good))).text
    await extractor.aclose()


async def test_a_slow_file_is_stopped_and_the_next_one_works() -> None:
    pool = WorkerPool(count=1, seconds=PATIENCE)
    extractor = FileExtractor(pool)
    good = samples.pdf("Still here.")
    await extractor.file(good, upload(good))
    (worker,) = pool._all
    os.kill(worker._process.pid, signal.SIGSTOP)
    pool._seconds = 0.05
    assert "RECOLLECT_EXTRACT_SECONDS" in await reason(extractor, good)
    pool._seconds = PATIENCE
    assert "Still here." in (await extractor.file(good, upload(good))).text
    await extractor.aclose()


async def test_too_little_memory_fails_the_file_not_the_service() -> None:
    extractor = FileExtractor(WorkerPool(count=1, seconds=PATIENCE, memory_mb=60))
    page = f"<html><body>{'<p>word</p>' * 900_000}</body></html>".encode()
    assert "RECOLLECT_EXTRACT_MEMORY_MB" in await reason(extractor, page, "a.html")
    good = samples.pdf("Still here.")
    assert "Still here." in (await extractor.file(good, upload(good))).text
    await extractor.aclose()


async def test_workers_end_with_the_extractor() -> None:
    pool = WorkerPool(count=2, seconds=PATIENCE)
    extractor = FileExtractor(pool)
    good = samples.pdf("Still here.")
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(extractor.file, good, upload(good))
    processes = [worker._process for worker in pool._all]
    assert 1 <= len(processes) <= 2
    await extractor.aclose()
    assert all(process.returncode is not None for process in processes)


async def test_a_worker_dies_with_a_killed_parent() -> None:
    program = (
        "import asyncio\n"
        "from pipeline.extraction.workers import WorkerPool\n"
        "async def main():\n"
        "    pool = WorkerPool()\n"
        "    await pool.parse(b'a,b\\n1,2\\n', mime='text/csv', filename=None, output='markdown')\n"
        "    print([worker._process.pid for worker in pool._all][0], flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=PIPE)
    assert parent.stdout is not None
    worker = psutil.Process(int(await parent.stdout.readline()))
    parent.kill()
    await parent.wait()
    await asyncio.to_thread(psutil.wait_procs, [worker], PATIENCE)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE


async def test_a_mail_of_html_is_readable(extractor: FileExtractor) -> None:
    data = samples.EMAIL.replace(b"text/plain", b"text/html").replace(b"we meet", b"<p>we <b>meet</b></p>")
    found = await extractor.file(data, upload(data, "x.eml"))
    assert "meet" in found.text
    assert "<b>" not in found.text
