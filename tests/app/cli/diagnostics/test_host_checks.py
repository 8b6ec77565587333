"""Checks of the machine: space, memory, port, secrets and clock."""

import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.cli.diagnostics import host_checks
from app.cli.diagnostics.check_runner import CheckResult
from pipeline.settings import Settings

pytestmark = pytest.mark.anyio


def settings(**fields: Any) -> Settings:
    return Settings(_env_file=None, **fields)


def statuses(results: list[CheckResult]) -> list[str]:
    return [status for status, _, remedy in results if remedy or status == "ok"]


async def test_the_python_of_these_tests_passes() -> None:
    assert statuses(await host_checks.check_python()) == ["ok"]


def is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


async def test_the_disk_of_a_missing_folder_is_checked_without_creating_it(tmp_path: Path) -> None:
    results = await host_checks.check_disk(settings(data_dir=tmp_path / "not" / "yet"))
    assert results[0][1].endswith(str(tmp_path / "not" / "yet"))
    assert "synced write" in results[1][1].lower()
    assert is_empty(tmp_path)


async def test_a_cache_beyond_the_memory_is_a_problem_and_large_files_a_warning() -> None:
    assert statuses(await host_checks.check_memory(settings(index_cache_bytes=1 << 50))) == ["problem"]
    assert statuses(await host_checks.check_memory(settings(parse_memory_mb=1 << 40))) == ["warning"]
    assert statuses(await host_checks.check_memory(settings(parse_memory_mb=128))) == ["ok"]


async def test_a_free_port_passes_and_a_foreign_address_is_a_problem() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
    assert statuses(await host_checks.check_port(settings(port=number))) == ["ok"]
    assert statuses(await host_checks.check_port(settings(port=0))) == ["ok"]
    (result,) = await host_checks.check_port(settings(host="192.0.2.7", port=number))
    assert result[0] == "problem"


async def test_weak_readable_and_malformed_secrets_are_reported(tmp_path: Path) -> None:
    def refuse(_: str) -> None:
        raise ValueError("not a key")

    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    assert statuses(await host_checks.check_secrets(settings(data_dir=private), refuse)) == ["ok"]
    private.chmod(0o755)
    (result,) = await host_checks.check_secrets(settings(data_dir=private), refuse)
    assert result == ("warning", f"Everybody on this machine can read {private}.", f"chmod 700 {private}")
    private.chmod(0o700)
    weak = settings(data_dir=private, admin_key="short", host="0.0.0.0", github_client_id="x")
    assert statuses(await host_checks.check_secrets(weak, refuse)) == ["warning", "problem", "warning"]
    behind_tls = settings(data_dir=private, host="0.0.0.0", public_url="https://memory.example")
    assert statuses(await host_checks.check_secrets(behind_tls, refuse)) == ["ok"]
    with pytest.raises(ValueError, match="not a key"):
        await host_checks.check_secrets(settings(data_dir=private, secret_key="what"), refuse)


async def test_a_clock_behind_the_log_is_a_problem() -> None:
    now = datetime.now(UTC)
    assert statuses(await host_checks.check_clock(None)) == ["ok"]
    assert statuses(await host_checks.check_clock(now - timedelta(days=1))) == ["ok"]
    assert statuses(await host_checks.check_clock(now + timedelta(days=1))) == ["problem"]
