"""Shells ask the program itself how a command goes on."""

import subprocess

import pytest
from typer.testing import CliRunner

from app.cli.main import app
from bench.service_process import PROGRAM, unconfigured

WORDS = {
    "bash": {"COMP_WORDS": "recollect na", "COMP_CWORD": "1"},
    "zsh": {"_TYPER_COMPLETE_ARGS": "recollect na"},
    "fish": {"_TYPER_COMPLETE_ARGS": "recollect na", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


@pytest.mark.parametrize("shell", WORDS)
def test_the_beginning_of_a_command_is_completed(shell: str) -> None:
    variables = WORDS[shell] | {"_RECOLLECT_COMPLETE": f"complete_{shell}"}
    shown = CliRunner().invoke(app, [], env=variables, prog_name="recollect").stdout
    assert "namespaces" in shown
    assert "search" not in shown


def test_the_installed_program_completes_under_its_own_name() -> None:
    variables = unconfigured() | WORDS["bash"] | {"_RECOLLECT_COMPLETE": "complete_bash"}
    done = subprocess.run([PROGRAM], env=variables, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
    assert "namespaces" in done.stdout
