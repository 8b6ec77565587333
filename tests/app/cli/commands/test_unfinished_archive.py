"""`recollect export` and `import`: what is left when they can't be finished."""

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from app.cli.conventions import ExitCode
from app.cli.main import app
from app.cli.remote_service import RemoteService


@pytest.fixture(autouse=True)
def _service(monkeypatch: pytest.MonkeyPatch) -> None:
    def lines(_: RemoteService, _path: str, **__: Any) -> Iterator[bytes]:
        yield b'{"kind": "end", "documents": 0}'

    monkeypatch.setattr(RemoteService, "stream_lines", lines)


def _run(*words: str) -> Result:
    return CliRunner().invoke(app, [*words, "--url", "http://127.0.0.1:9", "--key", "k"])


def test_an_export_that_fails_while_it_is_packed_leaves_the_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "backup.tar"
    assert _run("export", "alice", str(target)).exit_code == 0
    earlier = target.read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(tarfile.TarFile, "add", full)
        done = _run("export", "alice", str(target), "--yes")
    assert done.exit_code == ExitCode.FAILED
    assert "backup.tar can't be written: No space left on device" in done.output
    assert target.read_bytes() == earlier
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("target", ["file/copy", "file/copy.tar"])
def test_a_place_that_cannot_be_written_is_a_sentence(target: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = _run("export", "alice", str(tmp_path / target))
    assert done.exit_code == ExitCode.FAILED
    assert f"{target} can't be written: " in done.output


def test_an_archive_that_cannot_be_unpacked_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "backup.tar"
    assert _run("export", "alice", str(target)).exit_code == 0

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "extractall", full)
    done = _run("import", str(target))
    assert done.exit_code == ExitCode.FAILED
    assert "No space left on device" in done.output
    assert "unpacked beside it" in done.output
