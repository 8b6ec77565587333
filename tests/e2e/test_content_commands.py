"""Commands for what a namespace holds, as a person types them."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.cli.conventions import ExitCode
from bench.service_process import PROGRAM, Server, unconfigured
from tests.e2e.test_cli_commands import CliRunner
from tests.support.polling import poll_until


@pytest.fixture
def recollect(program: Path, server: Server, tmp_path: Path) -> CliRunner:
    return CliRunner(program, server, tmp_path)


def wait_for_memory(recollect: CliRunner, namespace: str, text: str) -> str:
    """Wait for the memory; return its id."""
    listed = poll_until(
        lambda: json.loads(recollect("list", namespace, "--json")),
        lambda memories: any(text in memory["memory"] for memory in memories),
        "remembered",
    )
    return next(str(memory["id"]) for memory in listed if text in memory["memory"])


def test_a_document_and_its_memory_are_shown_listed_and_summed_up(recollect: CliRunner, namespace: str) -> None:
    recollect("add", namespace, "I live in Rome.", "--id", "home", "--wait")
    memory = wait_for_memory(recollect, namespace, "Rome")
    assert "User lives in Rome" in recollect("get", namespace, "home")
    assert "version 1, current" in recollect("get", namespace, memory)
    assert "home" in recollect("list", namespace, "documents")
    assert "User lives in Rome" in recollect("profile", namespace)
    assert namespace in recollect("namespaces", "--match", namespace)
    missing = recollect.run("get", namespace, "nothing")
    assert missing.returncode == ExitCode.NOT_FOUND
    assert "neither a document nor a memory 'nothing'" in missing.stderr


def test_an_empty_list_says_that_the_namespace_is_unknown(recollect: CliRunner, namespace: str) -> None:
    unknown = f"There is no namespace {namespace}: `recollect namespaces` lists those that exist.\n"
    assert recollect.run("list", namespace).stderr == f"There are no memories in {namespace}.\n{unknown}"
    assert recollect.run("profile", namespace).stderr == f"There are no memories of {namespace}.\n{unknown}"


def test_a_search_shows_the_parts_of_each_score(recollect: CliRunner, namespace: str) -> None:
    recollect("add", namespace, "The kettle is green.", "--wait")
    shown = recollect("search", namespace, "What colour is the kettle?", "--why")
    assert "bm25: words of the question stand in it" in shown


def test_memories_are_forgotten_by_subject_after_a_question(recollect: CliRunner, namespace: str) -> None:
    recollect("add", namespace, "I live in Rome.", "--wait")
    wait_for_memory(recollect, namespace, "Rome")
    refused = recollect.run("forget", namespace, "--about", "where she lives", given="n\n")
    assert "Forget 1 memory?" in refused.stderr
    assert "Rome" in recollect("list", namespace)
    assert recollect("forget", namespace, "--about", "where she lives", given="y\n") == "1 memory forgotten\n"
    assert recollect("list", namespace) == ""


def test_sentences_are_redacted_after_they_were_shown(recollect: CliRunner, namespace: str) -> None:
    recollect("add", namespace, "I live in Rome. I like tea.", "--id", "note", "--wait")
    wait_for_memory(recollect, namespace, "Rome")
    about = ("forget", namespace, "--about", "where she lives", "--redact")
    assert "I live in Rome." in recollect(*about, "--dry-run")
    refused = recollect.run(*about, given="n\n")
    assert "sentences of note:\n  I live in Rome.\n" in refused.stderr
    assert "Rome" in recollect("get", namespace, "note")
    assert recollect(*about, "--yes") == "1 memory forgotten, with their sentences in 1 document\n"
    assert "Rome" not in recollect("get", namespace, "note")
    misused = recollect.run("forget", namespace, "some-id", "--dry-run")
    assert misused.returncode == ExitCode.USAGE


def test_deleting_names_unknown_documents_and_asks_before_everything_goes(recollect: CliRunner, namespace: str) -> None:
    recollect("add", namespace, "The ferry leaves at noon.", "--id", "ferry", "--wait")
    recollect("add", namespace, "The gate is green.", "--id", "gate", "--wait")
    done = recollect.run("delete", namespace, "ferry", "nothing")
    assert (done.returncode, done.stdout) == (ExitCode.NOT_FOUND, "1 document deleted\n")
    assert "nothing: There is no such document" in done.stderr
    assert recollect.run("delete", namespace, "--everything", given="n\n").returncode == ExitCode.FAILED
    assert "gate" in recollect("list", namespace, "documents")
    assert f"{namespace} deleted" in recollect("delete", namespace, "--everything", "--yes")
    assert namespace not in recollect("namespaces")


def test_the_day_that_a_text_is_of_dates_its_memories(recollect: CliRunner, namespace: str, tmp_path: Path) -> None:
    recollect("add", namespace, "I moved to Porto yesterday.", "--date", "2024-05-09", "--wait")
    wait_for_memory(recollect, namespace, "8 May 2024")
    page = tmp_path / "page.md"
    page.write_text("The bees returned.")
    refused = recollect.run("add", namespace, "--file", str(page), "--date", "2024-05-09")
    assert (refused.returncode, "--date goes with a text" in refused.stderr) == (ExitCode.USAGE, True)


def test_a_file_gets_the_id_of_the_callers_choice(recollect: CliRunner, namespace: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Bees\n\nThe bees returned in April.\n")
    for _ in range(2):
        assert recollect("add", namespace, "--file", str(page), "--id", "bees", "--wait") == "bees\n"
    assert "returned in April" in recollect("get", namespace, "bees")
    assert "1 in all" in recollect("list", namespace, "documents")


def test_waiting_for_a_file_that_cannot_be_read_says_why(recollect: CliRunner, namespace: str, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.pdf"
    damaged.write_bytes(b"%PDF-1.4 nothing")
    writer = recollect("keys", "create", "writer", "--role", "write", "--namespace", namespace).strip()
    done = recollect.run("add", namespace, "--file", str(damaged), "--wait", key=writer)
    assert done.returncode == ExitCode.FAILED
    assert "it is damaged, or of another type" in done.stderr


def test_the_name_of_a_file_is_not_remembered_in_place_of_the_file(
    recollect: CliRunner, namespace: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text("The bees returned.")
    for words, said in (([str(page)], "--file adds what is in it"), (["text", "--file", str(page)], "or --file")):
        refused = recollect.run("add", namespace, *words)
        assert refused.returncode == ExitCode.USAGE
        assert said in refused.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["search", "alice", ""], "QUERY: must not be empty"),
        (["search", "alice", "x", "--filter", '{"a": 1}'], "--filter: operator: must be one of"),
        (["search", "alice", "x", "--filter", "{bad"], "--filter: this is not JSON"),
        (["search", "alice", "x", "--as-of", "once"], "--as-of: must be a time with its zone"),
        (["search", "alice", "x", "--mode", "fast"], "'--mode'"),
        (["add", "no name", "x"], "'namespace': A namespace has letters, digits"),
        (["keys", "create", "x", "--role", "king"], "--role: must be"),
        (["keys", "create", "x", "--scope", "king"], "--scope: must be"),
    ],
)
def test_an_error_names_the_option_once(recollect: CliRunner, words: list[str], said: str) -> None:
    error = recollect.run(*words).stderr
    assert said in error
    assert error.count(said.split(":", 1)[0]) == 1


def test_an_export_asks_before_it_overwrites_a_file(recollect: CliRunner, namespace: str, tmp_path: Path) -> None:
    recollect("add", namespace, "The gate is green.", "--wait")
    file = tmp_path / "backup.tar"
    file.write_text("precious")
    assert recollect.run("export", namespace, str(file), given="n\n").returncode == ExitCode.FAILED
    assert file.read_text() == "precious"
    recollect("export", namespace, str(file), "--yes")
    assert file.stat().st_size > len("precious")


def test_an_export_that_fails_leaves_no_folder(recollect: CliRunner, namespace: str, tmp_path: Path) -> None:
    assert recollect.run("export", namespace, "backup").returncode == ExitCode.NOT_FOUND
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_ends_a_command_without_a_traceback(server: Server, tmp_path: Path) -> None:
    variables = unconfigured() | {"RECOLLECT_URL": server.url, "RECOLLECT_API_KEY": server.key}
    command = [PROGRAM, "add", "alice", "-", "--wait"]
    with _interruptible_children():
        process = subprocess.Popen(  # noqa: S603 - our own program
            command, cwd=tmp_path, env=variables, stdin=subprocess.PIPE, stderr=subprocess.PIPE
        )
    assert process.stdin is not None
    process.stdin.write(b"x" * (1 << 20))  # more than a pipe holds: written once the command reads
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate()
    assert process.returncode == ExitCode.INTERRUPTED
    assert b"Traceback" not in error


@contextmanager
def _interruptible_children() -> Iterator[None]:
    """Start processes that take SIGINT, although a shell that starts pytest in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
