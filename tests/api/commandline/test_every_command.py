"""Every command of the command line: its help, its examples, what it gives to programs, how it ends."""

import re
import shlex
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import httpx2
import pytest
import typer
from typer.testing import CliRunner

import recollect
from api.commandline.conventions import Ending
from api.remote import Service

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "guides" / "commands.md").read_text("utf-8")
TO_PEOPLE_OR_PROTOCOLS = {"serve", "mcp", "demo"}
"""What runs until it is ended, speaks a protocol, or is a show."""


def walked(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, one in command.commands.items():
        yield from walked(one, (*path, name))


COMMANDS = {" ".join(path): command for path, command in walked(typer.main.get_command(recollect.app))}


def examples(name: str) -> list[list[str]]:
    """The words of each example, without what a shell does around the command."""
    lines = [line.strip() for line in (COMMANDS[name].epilog or "").replace("\\[", "[").splitlines()]
    return [
        shlex.split(re.split(r" [|>] ", line[line.index("recollect ") :])[0])
        for line in lines
        if "recollect " in line
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_it_does_and_what_every_option_is_for(name: str) -> None:
    shown = CliRunner().invoke(recollect.app, [*name.split(), "--help"])
    assert shown.exit_code == Ending.DONE
    assert "Examples" in shown.output
    assert COMMANDS[name].help
    assert [one.name for one in COMMANDS[name].params if not one.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_can_be_typed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("notes.pdf", "backup", "backup.tar"):
        (tmp_path / file).touch()
    assert examples(name)
    for program, *words in examples(name):
        assert program == "recollect"
        assert words[: len(name.split())] == name.split()
        COMMANDS[name].make_context(name, words[len(name.split()) :])


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - TO_PEOPLE_OR_PROTOCOLS))
def test_programs_can_have_json(name: str) -> None:
    assert any("--json" in one.opts for one in COMMANDS[name].params)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_guide_has_it(name: str) -> None:
    assert f"`recollect {name}" in GUIDE


def test_it_says_which_version_it_is_without_a_service() -> None:
    shown = CliRunner().invoke(recollect.app, ["--version"])
    assert shown.exit_code == Ending.DONE
    assert shown.output == f"recollect {metadata.version('recollect')}\n"


def test_the_guide_has_every_exit_code() -> None:
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", GUIDE, re.MULTILINE)}
    assert told == set(Ending)


@pytest.mark.parametrize(
    ("status", "ending"),
    [
        (400, Ending.FAILED),
        (401, Ending.REFUSED),
        (402, Ending.USED_UP),
        (403, Ending.REFUSED),
        (404, Ending.MISSING),
        (409, Ending.FAILED),
        (429, Ending.USED_UP),
        (500, Ending.FAILED),
        (503, Ending.UNREACHABLE),
    ],
)
def test_what_the_service_answers_decides_how_a_command_ends(
    status: int, ending: Ending, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, json={"error": "What it was", "details": "What to do"})

    with httpx2.Client(transport=httpx2.MockTransport(answer), base_url="http://test") as client:
        service = Service(client)
        asked = (service.call, service.fetch, service.lines)
        for ask, words in zip(asked, (("GET", "/x"), ("/x",), ("/x",)), strict=True):
            with pytest.raises(typer.Exit) as ended:
                list(ask(*words))  # type: ignore[operator]  # of one shape, by their places
            assert ended.value.exit_code == ending
    assert capsys.readouterr().err == f"{status}: What it was. What to do\n" * 3


@pytest.mark.parametrize(
    "words",
    ["audit", "dlq list", "connectors list", "connectors handshakes", "buckets list", "status --failed"],
)
def test_where_there_is_nothing_people_are_told_and_programs_read_nothing(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing: dict[str, Any] = {
        "letters": [],
        "connectors": [],
        "handshakes": {},
        "buckets": {},
        "documents": [],
        "acts": [],
        "before": None,
    }
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=nothing))
    with httpx2.Client(transport=transport, base_url="http://test") as client:
        monkeypatch.setattr(Service, "of", lambda *_: Service(client))
        shown = CliRunner().invoke(recollect.app, words.split())
        for_programs = CliRunner().invoke(recollect.app, [*words.split(), "--json"])
    assert shown.stderr.startswith("There are no ")
    assert not shown.stdout
    assert shown.exit_code == Ending.DONE
    assert not for_programs.stderr


@pytest.mark.parametrize("words", ["serve", "doctor", "topics", "status", "replay --dry-run"])
def test_a_setting_that_cannot_be_read_is_named_and_not_shown(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = {"RECOLLECT_PORT": "a-secret-by-mistake", "RECOLLECT_BODY_MB": "0"}
    ended = CliRunner().invoke(recollect.app, words.split(), env=wrong)
    assert ended.exit_code == Ending.USAGE
    assert "RECOLLECT_PORT: Input should be a valid integer" in ended.stderr
    assert "RECOLLECT_BODY_MB: " in ended.stderr
    assert "a-secret-by-mistake" not in ended.output


def test_where_nobody_answers_or_no_key_is_given_the_end_says_so(tmp_path: Path) -> None:
    nobody = {"RECOLLECT_DATA_DIR": str(tmp_path), "RECOLLECT_URL": "http://127.0.0.1:1"}
    run = CliRunner()
    asked = ["search", "alice", "tea"]
    assert (
        run.invoke(recollect.app, asked, env={**nobody, "RECOLLECT_API_KEY": "rk_x"}).exit_code
        == Ending.UNREACHABLE
    )
    assert run.invoke(recollect.app, asked, env=nobody).exit_code == Ending.REFUSED
    nowhere = {"RECOLLECT_DATA_DIR": str(tmp_path)}
    assert run.invoke(recollect.app, asked, env=nowhere).exit_code == Ending.UNREACHABLE
    assert run.invoke(recollect.app, ["search", "alice"], env=nobody).exit_code == Ending.USAGE
    assert (
        run.invoke(recollect.app, ["add", "alice"], env={**nobody, "RECOLLECT_API_KEY": "rk_x"}).exit_code
        == Ending.USAGE
    )
