"""The commands against a running service, as one types them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from supermemory import Supermemory

from app.cli.conventions import ExitCode
from bench.service_process import PROGRAM, Server, unconfigured
from tests.support.polling import poll_until, wait_document_done


class CliRunner:
    """Runs `recollect`, or a program like it, in a folder with the address and key of a server."""

    def __init__(self, program: Path | str, server: Server, folder: Path) -> None:
        self._program = program
        self._variables = unconfigured() | {"RECOLLECT_URL": server.url, "RECOLLECT_API_KEY": server.key}
        self._folder = folder

    def with_server(self, server: Server) -> "CliRunner":
        """The same against another server."""
        return CliRunner(self._program, server, self._folder)

    def __call__(self, *words: str, given: str = "", key: str | None = None) -> str:
        done = self.run(*words, given=given, key=key)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(
        self, *words: str, given: str = "", key: str | None = None, **settings: str
    ) -> subprocess.CompletedProcess[str]:
        variables = self._variables | {f"RECOLLECT_{name.upper()}": value for name, value in settings.items()}
        variables |= {} if key is None else {"RECOLLECT_API_KEY": key}
        return subprocess.run(  # noqa: S603 - our own command
            [self._program, *words],
            env=variables,
            cwd=self._folder,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def recollect(program: Path, server: Server, tmp_path: Path) -> CliRunner:
    return CliRunner(program, server, tmp_path)


def _create_connector(client: Supermemory, namespace: str) -> str:
    """A connector's id."""
    site = {"start_url": "http://127.0.0.1:1/"}  # the crawler may not visit it
    connector = client.connectors.create(namespace, request={"provider": "web-crawler", "config": site})
    return str(connector.id)


def test_what_was_added_is_found(server: Server, namespace: str, tmp_path: Path) -> None:
    recollect = CliRunner(PROGRAM, server, tmp_path)
    recollect("add", namespace, "The lighthouse keeper collects blue glass bottles.", "--id", "keeper", "--wait")
    found = recollect("search", namespace, "Who collects bottles?")
    assert "lighthouse keeper" in found


def test_a_file_and_standard_input_are_taken(recollect: CliRunner, namespace: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Bees\n\nThe bees returned to the orchard in April.\n")
    recollect("add", namespace, "--file", str(page), "--metadata", '{"kind": "note"}', "--wait")
    recollect("add", namespace, "-", "--wait", given="The wasps did not return.")
    assert "bees returned" in recollect("search", namespace, "bees in the orchard")
    assert "wasps" in recollect("search", namespace, "wasps return")


def test_what_was_exported_can_be_imported_elsewhere_twice(
    recollect: CliRunner, client: Supermemory, own_server: Server, namespace: str, tmp_path: Path
) -> None:
    recollect("add", namespace, "The ferry leaves at noon.", "--id", "ferry", "--metadata", '{"line": 7}')
    note = tmp_path / "note.md"
    note.write_text("# Bees\n\nThe bees returned in April.\n")
    bees = recollect("add", namespace, "--file", str(note), "--wait").strip()
    for document in ("ferry", bees):
        wait_document_done(client, namespace, document, memories=True)
    recollect("export", namespace, str(tmp_path / "folder"))
    recollect("export", namespace, str(tmp_path / "file.tar"))
    assert "there already" in recollect.run("export", namespace, str(tmp_path / "folder")).stderr
    own_server.start()
    elsewhere = recollect.with_server(own_server)
    assert "2 documents" in elsewhere.run("import", str(tmp_path / "folder")).stderr
    again = elsewhere.run("import", str(tmp_path / "file.tar")).stderr
    assert "0 documents" in again
    assert "2 documents were here already" in again
    poll_until(lambda: elsewhere("search", namespace, "bees"), lambda found: "returned in April" in found, "found")
    elsewhere("export", "--all", str(tmp_path / "back"))
    file = Path("namespaces", f"{namespace}.jsonl")
    assert (tmp_path / "back" / file).read_bytes() == (tmp_path / "folder" / file).read_bytes()
    assert json.loads((tmp_path / "back" / "manifest.json").read_text())["version"] == 1
    assert "is missing" in elsewhere.run("import", str(tmp_path / "back" / "namespaces")).stderr


def test_status_shows_documents_and_lag(recollect: CliRunner, namespace: str) -> None:
    recollect("add", namespace, "A short note.", "--wait")
    shown = recollect("status")
    for phrase in ("address", "embedded log in", "documents done", "documents.chunked.v1"):
        assert phrase in shown
    answer = json.loads(recollect("status", "--json"))
    assert answer["address"].startswith("http://127.0.0.1:")
    assert {"extract", "project_memories"} <= {stage["stage"] for stage in answer["stages"]}
    assert answer["healthIssues"] == []
    assert answer["disk"]["log"] > 0


def test_a_dead_letter_is_listed_shown_and_dropped(recollect: CliRunner, server: Server) -> None:
    assert recollect("dlq", "list") == ""
    assert "0 records" in recollect("dlq", "redrive")
    missing = recollect.run("dlq", "show", "documents.submitted.v1.dlq/0/0")
    assert missing.returncode == ExitCode.NOT_FOUND
    assert "no dead letter" in missing.stderr
    assert "Nothing was dropped" in recollect.run("dlq", "drop", "documents.submitted.v1", given="n\n").stderr
    assert "0 records dropped" in recollect("dlq", "drop", "documents.submitted.v1", "--yes")


def test_a_key_opens_what_it_was_made_for_until_it_is_revoked(recollect: CliRunner, namespace: str) -> None:
    key = recollect("keys", "create", "app", "--role", "read", "--namespace", namespace).strip()
    recollect("add", namespace, "The gate is green.", "--wait")
    assert "green" in recollect("search", namespace, "gate", key=key)
    refused = recollect.run("add", namespace, "More.", key=key)
    assert "403" in refused.stderr
    assert refused.returncode == ExitCode.UNAUTHORIZED
    assert "403" in recollect.run("search", "elsewhere", "gate", key=key).stderr
    identity = next(line.split()[0] for line in recollect("keys", "list").splitlines() if " app " in line)
    recollect("keys", "revoke", identity)
    assert "401" in recollect.run("search", namespace, "gate", key=key).stderr


def test_a_list_of_keys_says_how_much_each_may(recollect: CliRunner) -> None:
    recollect("keys", "create", "free")
    recollect("keys", "create", "bound", "--rate-limit", "600", "--monthly-searches", "100000")
    lines = recollect("keys", "list").splitlines()
    traceback = "".join(lines[lines.index(next(line for line in lines if "bound" in line)) :])
    assert all(word in traceback for word in ("600 a minute", "100,000 searches"))
    recollect("keys", "revoke", next(line.split()[0] for line in lines if "bound" in line))


def test_buckets_of_the_organization_are_set_and_deleted(recollect: CliRunner) -> None:
    assert "hobbies: What someone does for joy" in recollect("buckets", "set", "hobbies", "What someone does for joy")
    assert "hobbies" in recollect("buckets", "list")
    assert "hobbies" not in recollect("buckets", "delete", "hobbies")
    done = recollect.run("buckets", "delete", "hobbies")
    assert (done.returncode, "There is no bucket hobbies" in done.stderr) == (ExitCode.NOT_FOUND, True)
    assert "NAME: may have small letters" in recollect.run("buckets", "set", "Hobbies", "joy").stderr


def test_a_mistake_is_told_in_one_line_and_ends_as_wrong_usage_does(recollect: CliRunner, namespace: str) -> None:
    done = recollect.run("search", namespace, "tea", "--filter", "{not json")
    assert done.returncode == ExitCode.USAGE
    assert "--filter: this is not JSON" in done.stderr
    assert "Traceback" not in done.stderr


def test_connectors_are_listed_and_keys_for_their_credentials_made(
    recollect: CliRunner, client: Supermemory, namespace: str
) -> None:
    connector = _create_connector(client, namespace)
    listed = recollect("connectors", "list")
    assert "Provider" in listed
    assert connector in listed, "whole, to be copied"
    assert len(recollect("connectors", "key").strip()) == 44
    refusal = recollect.run("connectors", "sync", "con_no")
    assert refusal.returncode == ExitCode.NOT_FOUND
    assert "no connector" in refusal.stderr
    assert recollect("connectors", "handshakes") == ""


def test_programs_read_json_from_every_command_that_shows_something(
    recollect: CliRunner, client: Supermemory, namespace: str, tmp_path: Path
) -> None:
    def read(*words: str) -> Any:
        return json.loads(recollect(*words, "--json"))

    added = read("add", namespace, "The kettle is green.", "--wait")
    assert added["status"] == "done"
    question = ("search", namespace, "What colour is the kettle?")
    assert "green" in read(*question)["results"][0]["chunk"]
    assert read(*question, "--why")["results"][0]["explanation"]["contributions"]
    assert read(*question, "--as-of", "2020-01-01T00:00:00Z")["results"] == []
    key = read("keys", "create", "program", "--role", "read")
    assert key["id"] in [listed["id"] for listed in read("keys", "list")]
    assert read("keys", "change", key["id"], "--rate-limit", "600")["rateLimit"] == 600
    assert read("keys", "change", key["id"], "--name", "renamed", "--reset")["rateLimit"] is None
    assert read("keys", "rotate", key["id"])["key"] != key["key"]
    read("keys", "revoke", key["id"])
    assert read("buckets", "set", "joys", "What somebody enjoys")["joys"]
    assert "joys" in read("buckets", "list")
    assert "joys" not in read("buckets", "delete", "joys")
    assert read("dlq", "redrive") == {"redriven": 0}
    assert read("dlq", "list") == []
    assert read("connectors", "handshakes") == {}
    assert [document for document in read("status", "--failed") if document["namespace"] == namespace] == []
    connector = _create_connector(client, namespace)
    own = [listed for listed in read("connectors", "list") if listed["namespace"] == namespace]
    assert [(listed["id"], listed["provider"]) for listed in own] == [(connector, "web-crawler")]
    assert read("status")["healthIssues"] == []
    assert read("replay", "--dry-run")["records"]
    assert read("export", namespace, str(tmp_path / "copy"))["documents"] == 1
    assert read("import", str(tmp_path / "copy"))["unchanged"] == 1
    assert len(read("connectors", "key")["key"]) == 44
    assert read("topics") == {"differences": []}
    # Whatever it finds: beside other tests the service may be too busy to be ready.
    checks = json.loads(recollect.run("doctor", "--json").stdout)
    assert {check["component"] for check in checks} >= {"disk", "log", "clock"}


def test_a_service_whose_object_store_does_not_answer_says_so_as_it_starts(
    recollect: CliRunner, tmp_path: Path
) -> None:
    nobody = {"endpoint": "http://127.0.0.1:9", "region": "a", "access_key_id": "k", "secret_access_key": "s"}
    storage = {f"storage_{name}": value for name, value in nobody.items()}
    done = recollect.run(
        "serve",
        "--port",
        "0",
        "--data-dir",
        str(tmp_path / "data"),
        lance_uri="s3://nobody/tables",
        **storage,
    )
    assert done.returncode == ExitCode.UNREACHABLE
    assert "The object store of the tables, s3://nobody/tables, can't be used" in done.stderr
    assert "recollect doctor" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Debug source" not in done.stderr
