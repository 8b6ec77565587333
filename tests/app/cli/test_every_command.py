"""Every command: its help, its examples, its JSON output and its exit codes."""

import re
import shlex
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import httpx2
import pytest
import typer
from typer.testing import CliRunner

from app.cli.conventions import ExitCode
from app.cli.main import app
from app.cli.remote_service import RemoteService

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "guides" / "commands.md").read_text("utf-8")
WITHOUT_JSON = {"serve", "mcp", "demo"}
"""Commands that run until they are stopped, speak a protocol, or are a demonstration."""


def leaf_commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, child in command.commands.items():
        yield from leaf_commands(child, (*path, name))


COMMANDS = {" ".join(path): command for path, command in leaf_commands(typer.main.get_command(app))}


def examples(name: str) -> list[list[str]]:
    """Split each example into words, without pipes and redirections."""
    lines = [line.strip() for line in (COMMANDS[name].epilog or "").replace("\\[", "[").splitlines()]
    return [
        shlex.split(re.split(r" [|>] ", line[line.index("recollect ") :])[0]) for line in lines if "recollect " in line
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_describes_the_command_and_every_option(name: str) -> None:
    result = CliRunner().invoke(app, [*name.split(), "--help"])
    assert result.exit_code == ExitCode.OK
    assert "Examples" in result.output
    assert COMMANDS[name].help
    assert [param.name for param in COMMANDS[name].params if not param.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_can_be_typed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("notes.pdf", "backup", "backup.tar", "keys-backup.db"):
        (tmp_path / file).touch()
    assert examples(name)
    for program, *words in examples(name):
        assert program == "recollect"
        assert words[: len(name.split())] == name.split()
        COMMANDS[name].make_context(name, words[len(name.split()) :])


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - WITHOUT_JSON))
def test_a_command_with_output_has_a_json_option(name: str) -> None:
    assert any("--json" in param.opts for param in COMMANDS[name].params)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_guide_lists_the_command(name: str) -> None:
    assert f"`recollect {name}" in GUIDE


def test_version_needs_no_service() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == ExitCode.OK
    assert result.output == f"recollect {metadata.version('recollect')}\n"


def test_the_guide_lists_every_exit_code() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", GUIDE, re.MULTILINE)}
    assert listed == set(ExitCode)


@pytest.mark.parametrize(
    ("status", "exit_code"),
    [
        (400, ExitCode.USAGE),
        (401, ExitCode.UNAUTHORIZED),
        (402, ExitCode.QUOTA_EXCEEDED),
        (403, ExitCode.UNAUTHORIZED),
        (404, ExitCode.NOT_FOUND),
        (409, ExitCode.FAILED),
        (429, ExitCode.QUOTA_EXCEEDED),
        (500, ExitCode.FAILED),
        (503, ExitCode.UNREACHABLE),
    ],
)
def test_the_status_of_the_service_decides_the_exit_code(
    status: int, exit_code: ExitCode, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, json={"error": "The problem", "details": "The remedy"})

    with httpx2.Client(transport=httpx2.MockTransport(answer), base_url="http://test") as client:
        service = RemoteService(client)
        requests: tuple[Callable[[], object], ...] = (
            lambda: service.request("GET", "/x"),
            lambda: service.fetch_bytes("/x"),
            lambda: list(service.stream_lines("/x")),
        )
        for request in requests:
            with pytest.raises(typer.Exit) as exit_info:
                request()
            assert exit_info.value.exit_code == exit_code
    assert capsys.readouterr().err == f"{status}: The problem. The remedy\n" * 3


@pytest.mark.parametrize(
    "words",
    ["audit", "dlq list", "connectors list", "connectors handshakes", "buckets list", "status --failed"],
)
def test_an_empty_list_is_a_message_for_people_and_empty_json_as_json(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty: dict[str, Any] = {
        "deadLetters": [],
        "connectors": [],
        "verificationTokens": {},
        "buckets": {},
        "documents": [],
        "entries": [],
        "before": None,
    }
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=empty))
    with httpx2.Client(transport=transport, base_url="http://test") as client:
        monkeypatch.setattr(RemoteService, "from_options", lambda *_: RemoteService(client))
        result = CliRunner().invoke(app, words.split())
        as_json = CliRunner().invoke(app, [*words.split(), "--json"])
    assert result.stderr.startswith("There are no ")
    assert not result.stdout
    assert result.exit_code == ExitCode.OK
    assert not as_json.stderr


@pytest.mark.parametrize("words", ["serve", "doctor", "topics", "status", "replay --dry-run"])
def test_an_invalid_setting_is_named_without_its_value(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    invalid = {"RECOLLECT_PORT": "a-secret-by-mistake", "RECOLLECT_MAX_BODY_MB": "0"}
    result = CliRunner().invoke(app, words.split(), env=invalid)
    assert result.exit_code == ExitCode.USAGE
    assert "RECOLLECT_PORT: Input should be a valid integer" in result.stderr
    assert "RECOLLECT_MAX_BODY_MB: " in result.stderr
    assert "a-secret-by-mistake" not in result.output


def test_exit_codes_tell_an_unreachable_service_a_missing_key_and_wrong_usage_apart(tmp_path: Path) -> None:
    no_address = {"RECOLLECT_DATA_DIR": str(tmp_path)}
    no_key = {**no_address, "RECOLLECT_URL": "http://127.0.0.1:1"}
    unreachable = {**no_key, "RECOLLECT_API_KEY": "rk_x"}

    def exit_code(environment: dict[str, str], *words: str) -> int:
        return CliRunner().invoke(app, words, env=environment).exit_code

    assert exit_code(unreachable, "search", "alice", "tea") == ExitCode.UNREACHABLE
    assert exit_code(no_key, "search", "alice", "tea") == ExitCode.UNAUTHORIZED
    assert exit_code(no_address, "search", "alice", "tea") == ExitCode.UNREACHABLE
    assert exit_code(no_key, "search", "alice") == ExitCode.USAGE
    assert exit_code(unreachable, "add", "alice") == ExitCode.USAGE
