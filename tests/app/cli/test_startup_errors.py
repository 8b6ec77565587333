"""A disk that refuses to be written at the start, or holds damaged files, is a sentence and an exit code."""

import errno
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import typer

from app.cli.conventions import ExitCode
from app.cli.local_process import exit_on_startup_error
from app.resources import embedder_from_settings, index_config_from_settings
from pipeline.bus.bus_factory import open_key_file
from pipeline.errors import DamagedLogError
from pipeline.models import open_language_model
from pipeline.settings import Settings


def _full_database() -> sqlite3.Error:
    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE TABLE texts(text)")
        db.execute("PRAGMA max_page_count = 1")
        try:
            db.execute("INSERT INTO texts VALUES (?)", ["long" * 10_000])
        except sqlite3.Error as error:
            return error
    raise AssertionError("the database took more than it may hold")


LANCE_ERROR = (
    "lance error: LanceError(IO): Generic LocalFileSystem error: Unable to copy data to file: No space left on device"
    " (os error 28), /registry/lance-table-13.0.0/src/io/commit.rs:1663:50"
)


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError(LANCE_ERROR), _full_database()]
)
def test_a_full_disk_is_said_in_a_sentence(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as exited, exit_on_startup_error():
        raise error
    assert exited.value.exit_code == ExitCode.FAILED
    said = capsys.readouterr().err
    assert "can't be written" in said
    assert "Free space" in said
    assert "commit.rs" not in said


DAMAGE = "lance error: LanceError(IO): failed to fill whole buffer, src/io/reader.rs:5"


def test_damaged_tables_are_said_in_a_sentence_with_the_way_to_new_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as exited, exit_on_startup_error():
        raise RuntimeError(DAMAGE)
    assert exited.value.exit_code == ExitCode.FAILED
    said = capsys.readouterr().err
    assert "failed to fill whole buffer" in said
    assert "`recollect replay`" in said


def test_a_damaged_database_is_said_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log.db").write_bytes(b"nonsense" * 1000)
    with (
        pytest.raises(typer.Exit),
        exit_on_startup_error(),
        closing(sqlite3.connect(tmp_path / "log.db")) as db,
    ):
        db.execute("SELECT * FROM records")
    assert "is damaged: file is not a database" in capsys.readouterr().err


def test_a_damaged_log_is_not_taken_for_damaged_tables(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), exit_on_startup_error():
        raise DamagedLogError("log.db is damaged: put back a backup.")
    assert capsys.readouterr().err.strip() == "log.db is damaged: put back a backup."


@pytest.mark.parametrize(
    ("fields", "open_part"),
    [
        (
            {"embedder": "openai"},
            lambda settings: embedder_from_settings(settings, index_config_from_settings(settings)),
        ),
        ({"llm_base_url": "http://127.0.0.1:1/v1"}, open_language_model),
        ({"sealing_vault_address": "https://vault.example.com"}, lambda settings: open_key_file(settings).__enter__()),
    ],
)
def test_settings_that_do_not_fit_together_have_the_exit_code_of_wrong_settings(
    fields: dict[str, Any], open_part: Callable[[Settings], object]
) -> None:
    with pytest.raises(typer.Exit) as exited, exit_on_startup_error():
        open_part(Settings(_env_file=None, **fields))
    assert exited.value.exit_code == ExitCode.USAGE


def test_other_errors_keep_their_traceback() -> None:
    with pytest.raises(RuntimeError, match="unexpected"), exit_on_startup_error():
        raise RuntimeError("unexpected")
