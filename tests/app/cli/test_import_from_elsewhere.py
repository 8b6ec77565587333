"""`recollect import --from`: what is sent, what is sent again, and what a person is told."""

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app.cli.conventions import ExitCode
from app.cli.main import app
from bench.service_process import PROGRAM, unconfigured


@dataclass
class FakeService:
    """Service that keeps documents by id; `answers`: statuses of the next requests, 200 when they are used up."""

    url: str = ""
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    received: list[str] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    stops_after: int | None = None
    stopped: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)


class _Server(ThreadingHTTPServer):
    def __init__(self, fake: FakeService) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.fake = fake


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status = self.server.fake.answers.pop(0) if self.server.fake.answers else 200
        if self.path == "/v3/documents/list":
            self._answer(200, _listed(body))
        elif status != 200:
            self._answer(status, {"error": "busy"})
        elif {document["id"] for document in body["documents"]} & self.server.fake.refused:
            self._answer(400, {"error": "Validation failed", "details": "documents.0: no such thing"})
        else:
            if (
                self.server.fake.stops_after is not None
                and len(self.server.fake.received) >= self.server.fake.stops_after
            ):
                self.server.fake.stopped.set()
                self.server.fake.closing.wait()
                return
            self._accept(body["documents"])

    def do_PATCH(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        name = self.path.rpartition("/")[2].replace("%3A", ":")
        if name not in self.server.fake.documents:
            self._answer(404, {"error": "Document not found"})
            return
        self.server.fake.documents[name] |= body
        self._answer(200, {"id": name, "status": "queued"})

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        self._answer(200, {"id": name, "content": f"text of {name}"})

    def _accept(self, documents: list[dict[str, Any]]) -> None:
        self.server.fake.received += [document["id"] for document in documents]
        self.server.fake.documents |= {document["id"]: document | {"path": self.path} for document in documents}
        results = [{"id": document["id"], "status": "queued"} for document in documents]
        self._answer(200, {"results": results, "count": len(results), "failed": 0})

    def _answer(self, status: int, value: object) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        if status in {429, 503}:
            self.send_header("retry-after", "7")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the base class gives
        """Stay quiet."""


def _listed(query: dict[str, Any]) -> dict[str, Any]:
    at = query["page"] - 1
    pages: list[Any] = [
        {"id": "d1", "content": "Ann keeps bees.", "containerTags": ["ann"]},
        {"id": "d2", "containerTags": ["bob"]},
        {"title": "A record without id and text"},
        "no record",
    ]
    return {"memories": pages[at : at + 1], "pagination": {"currentPage": at + 1, "totalPages": 4, "totalItems": 4}}


@pytest.fixture
def service() -> Iterator[FakeService]:
    fake = FakeService()
    with _Server(fake) as server:
        fake.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield fake
        finally:
            fake.closing.set()
            server.shutdown()


@dataclass
class Import:
    """The command, with a service and a data directory of its own."""

    service: FakeService
    folder: Path

    def __call__(self, *words: str, code: ExitCode = ExitCode.OK) -> Any:
        done = CliRunner().invoke(app, ["import", *words, "--url", self.service.url, "--key", "k"], env=self.variables)
        assert done.exit_code == code, done.output
        return json.loads(done.stdout) if "--json" in words else done.output

    @property
    def variables(self) -> dict[str, str]:
        return {"RECOLLECT_DATA_DIR": str(self.folder / "data")}


@pytest.fixture
def run(service: FakeService, tmp_path: Path) -> Import:
    return Import(service, tmp_path)


def memories(path: Path, count: int, **changes: str) -> str:
    """Write an export of mem0; `changes`: texts by id."""
    rows = [
        {"id": f"m{number}", "memory": changes.get(f"m{number}", f"Fact {number}"), "user_id": f"user{number % 3}"}
        for number in range(count)
    ]
    path.write_text(json.dumps({"results": rows}))
    return str(path)


def test_a_repeated_import_sends_what_is_new_or_changed(run: Import, tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    first = run("--from", "mem0", memories(file, 7), "--json")
    assert (first["imported"], first["namespaces"]) == (7, {"user0": 3, "user1": 2, "user2": 2})
    assert run.service.documents["mem0:m1"]["path"] == "/ns/user1/document/batch"
    again = run("--from", "mem0", memories(file, 8, m2="Another fact"), "--json")
    assert (again["imported"], again["updated"], again["unchanged"]) == (1, 1, 6)
    assert run.service.documents["mem0:m2"]["content"] == "Another fact"
    assert len(run.service.received) == 8
    assert run("--from", "mem0", str(file), "--again", "--json")["imported"] == 8


def test_a_document_that_was_deleted_meanwhile_is_added_again(run: Import, tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    run("--from", "mem0", memories(file, 2), "--namespace", "me")
    run.service.documents.clear()
    assert run("--from", "mem0", memories(file, 2, m1="New text"), "--namespace", "me", "--json")["imported"] == 1


def test_a_killed_import_goes_on_and_sends_nothing_twice(run: Import, tmp_path: Path) -> None:
    words = ["import", "--from", "mem0", memories(tmp_path / "export.json", 1000), "--namespace", "me"]
    command = [PROGRAM, *words, "--url", run.service.url, "--key", "k"]
    run.service.stops_after = 400
    with subprocess.Popen(command, env=unconfigured() | run.variables) as process:  # noqa: S603 - our own command
        assert run.service.stopped.wait(120)
        process.kill()
    assert 400 <= len(run.service.received) < 1000
    run.service.stops_after = None
    done = run(*words[1:], "--json")
    assert (done["imported"], done["unchanged"]) == (600, 400)
    assert len(run.service.received) == len(set(run.service.received)) == 1000


def test_a_busy_service_is_waited_for_as_long_as_it_asks(
    run: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    run.service.answers = [503, 429, 502]
    assert run("--from", "mem0", memories(tmp_path / "export.json", 2), "--namespace", "me", "--json")["imported"] == 2
    assert pauses == [7, 7, 4]


def test_a_document_that_is_refused_keeps_no_other_out(run: Import, tmp_path: Path) -> None:
    run.service.refused = {"mem0:m3"}
    log = tmp_path / "left-out.jsonl"
    file = memories(tmp_path / "export.json", 5)
    done = run("--from", "mem0", file, "--namespace", "me", "--left-out", str(log), "--json")
    assert (done["imported"], done["leftOut"]) == (4, 1)
    assert json.loads(log.read_text())["item"] == "mem0:m3"
    assert "no such thing" in done["reasons"][0]["reason"]


def test_two_items_of_one_id_and_items_of_nobody_are_reported(run: Import, tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_text(json.dumps([{"id": 1, "memory": "A", "user_id": "a"}] * 2 + [{"id": 2, "memory": "B"}]))
    said = run("--from", "mem0", str(file))
    assert "1 document imported into a." in said
    assert "2 left out:" in said
    assert "another item of the source has the same id  (mem0:1)" in said
    assert "give --namespace  (mem0:2)" in said


def test_what_came_before_the_damage_is_imported(run: Import, tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    whole = Path(memories(file, 9)).read_text()
    file.write_text(whole[:-30])
    said = run("--from", "mem0", str(file), code=ExitCode.FAILED)
    assert "8 documents imported" in said
    assert "export.json is damaged, or ends in the middle, after 8 records" in said


def test_documents_of_a_running_server(run: Import) -> None:
    done = run("--from", "supermemory", run.service.url, "--source-key", "sm_1", "--json")
    assert done["namespaces"] == {"ann": 1, "bob": 1}
    assert run.service.documents["supermemory:d2"]["content"] == "text of d2"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "nothing", "x"], "--from: takes chatgpt, "),
        (["--from", "chatgpt", "x"], "--namespace: say where"),
        (["--from", "chatgpt", "x", "--namespace", "a b"], "--namespace: letters, digits"),
        (["--from", "chatgpt", "x", "--namespace", "me"], "SOURCE: there is no x."),
        (["--from", "chatgpt", "https://x.example", "--namespace", "me"], "takes a file, not an address"),
        (["nothing.tar"], "SOURCE: there is no nothing.tar."),
    ],
)
def test_errors_name_the_option(run: Import, words: list[str], said: str) -> None:
    assert said in run(*words, code=ExitCode.USAGE)


def test_files_that_cannot_be_used_are_named(run: Import, tmp_path: Path) -> None:
    two = [{"id": 1, "memory": "A", "user_id": "a"}, {"id": 2, "memory": "B"}]
    (tmp_path / "export.json").write_text(json.dumps(two))
    export = str(tmp_path / "export.json")
    said = run("--from", "mem0", export, "--left-out", str(tmp_path / "none" / "log"), code=ExitCode.USAGE)
    assert "--left-out: [Errno 2]" in said
    folder = run("--from", "mbox", str(tmp_path), "--namespace", "me", code=ExitCode.FAILED)
    assert "The source can't be read: [Errno 21]" in folder
    (tmp_path / "data").rename(tmp_path / "before")
    (tmp_path / "data").write_text("a file where the folder should be")
    assert "lists what imports have sent, can't be opened" in run("--from", "mem0", export, code=ExitCode.FAILED)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_under_the_list_of_what_is_left_out_is_a_sentence(run: Import, tmp_path: Path) -> None:
    (tmp_path / "export.json").write_text(json.dumps([{"id": 2, "memory": "B"}]))
    said = run("--from", "mem0", str(tmp_path / "export.json"), "--left-out", "/dev/full", code=ExitCode.FAILED)
    assert "--left-out: [Errno 28] No space left on device" in said
