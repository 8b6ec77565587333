"""The machine: what is short, taken, open to others or wrong, and what to do about it."""

import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.doctor import machine
from pipeline.doctor.findings import Found
from pipeline.settings import Settings

pytestmark = pytest.mark.anyio


def settings(**fields: Any) -> Settings:
    return Settings(_env_file=None, **fields)


def states(found: list[Found]) -> list[str]:
    return [state for state, _, do in found if do or state == "ok"]


async def test_a_machine_that_runs_these_tests_has_the_python_it_needs() -> None:
    assert states(await machine.python()) == ["ok"]


def nothing_in(folder: Path) -> bool:
    return not any(folder.iterdir())


async def test_a_folder_that_is_not_there_yet_is_looked_for_where_it_will_be(tmp_path: Path) -> None:
    found = await machine.disk(settings(data_dir=tmp_path / "not" / "yet"))
    assert found[0][1].endswith(str(tmp_path / "not" / "yet"))
    assert "synced write" in found[1][1].lower()
    assert nothing_in(tmp_path)


async def test_more_memory_than_there_is_is_a_problem_and_files_that_do_not_fit_a_warning() -> None:
    assert states(await machine.memory(settings(cache_bytes=1 << 50))) == ["problem"]
    assert states(await machine.memory(settings(extract_memory_mb=1 << 40))) == ["warning"]
    assert states(await machine.memory(settings(extract_memory_mb=128))) == ["ok"]


async def test_a_port_is_free_or_somebody_elses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
    assert states(await machine.port(settings(port=number))) == ["ok"]
    assert states(await machine.port(settings(port=0))) == ["ok"]
    (found,) = await machine.port(settings(host="192.0.2.7", port=number))
    assert found[0] == "problem"


async def test_secrets_that_are_weak_open_or_wrong_are_named(tmp_path: Path) -> None:
    def refuse(_: str) -> None:
        raise ValueError("not a key")

    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    assert states(await machine.secrets(settings(data_dir=private), refuse)) == ["ok"]
    private.chmod(0o755)
    (found,) = await machine.secrets(settings(data_dir=private), refuse)
    assert found == ("warning", f"Everybody on this machine can read {private}.", f"chmod 700 {private}")
    private.chmod(0o700)
    weak = settings(data_dir=private, admin_key="short", host="0.0.0.0", github_client_id="x")
    assert states(await machine.secrets(weak, refuse)) == ["warning", "problem", "warning"]
    behind_tls = settings(data_dir=private, host="0.0.0.0", public_url="https://memory.example")
    assert states(await machine.secrets(behind_tls, refuse)) == ["ok"]
    with pytest.raises(ValueError, match="not a key"):
        await machine.secrets(settings(data_dir=private, secret_key="what"), refuse)


async def test_a_clock_behind_the_log_was_set_back() -> None:
    now = datetime.now(UTC)
    assert states(await machine.clock(None)) == ["ok"]
    assert states(await machine.clock(now - timedelta(days=1))) == ["ok"]
    assert states(await machine.clock(now + timedelta(days=1))) == ["problem"]
