"""`recollect import --from` against a real service, and from one."""

import json
from pathlib import Path

import pytest

from bench.service_process import Server
from tests.e2e.test_cli_commands import CliRunner
from tests.support.polling import poll_until


@pytest.fixture
def recollect(program: Path, server: Server, tmp_path: Path) -> CliRunner:
    return CliRunner(program, server, tmp_path)


def _chat(path: Path) -> str:
    lines = [f"{day:02}/05/2023, 21:{day:02} - Ann: My day {day} was fine, I baked bread." for day in range(1, 29)]
    path.write_text("\n".join(lines))
    return str(path)


def test_a_chat_is_found_with_its_days_and_imported_only_once(
    recollect: CliRunner, namespace: str, tmp_path: Path
) -> None:
    words = ["import", "--from", "whatsapp", _chat(tmp_path / "Ann.txt"), "--namespace", namespace, "--json"]
    data = {"data_dir": str(tmp_path / "client")}
    first = json.loads(recollect.run(*words, **data).stdout)
    assert (first["imported"], first["leftOut"]) == (28, 0)
    assert json.loads(recollect.run(*words, **data).stdout)["unchanged"] == 28
    # Without the record of what was sent, the service itself knows each document.
    assert json.loads(recollect.run(*words, "--again", **data).stdout)["imported"] == 28
    assert "28 in all" in recollect("list", namespace, "documents", "--limit", "50")
    assert "I baked bread" in recollect("search", namespace, "My day 7 baking bread", "--mode", "chunks")
    document = recollect("get", namespace, "whatsapp:Ann:2023-05-07", "--json")
    assert json.loads(document)["metadata"] == {"source": "whatsapp", "chat": "Ann"}


def test_a_running_server_is_read_through_its_v3_interface(
    recollect: CliRunner, server: Server, namespace: str, tmp_path: Path
) -> None:
    recollect(
        "add",
        namespace,
        "The ferry leaves at noon.",
        "--id",
        f"ferry-{namespace}",
        "--metadata",
        '{"kind": "note"}',
        "--wait",
    )
    target = f"{namespace}-2"
    words = ["import", "--from", "supermemory", server.url, "--source-key", server.key, "--namespace", target]
    assert recollect.run(*words, data_dir=str(tmp_path / "client")).returncode == 0
    copy = poll_until(
        lambda: json.loads(recollect("get", target, f"supermemory:ferry-{namespace}", "--json")),
        lambda document: document["system"]["status"] == "done",
        "imported",
    )
    assert copy["content"] == "The ferry leaves at noon."
    assert copy["metadata"]["kind"] == "note"
