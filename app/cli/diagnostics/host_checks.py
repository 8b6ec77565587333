"""Checks of the machine: Python, disk, memory, port, secrets, clock."""

import asyncio
import os
import shutil
import socket
import stat
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from getpass import getuser
from importlib.metadata import PackageNotFoundError, version
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryFile

import httpx2
import psutil

from app.cli.diagnostics.check_runner import CheckResult, passed
from app.data_directories import ADMIN_KEY_FILE
from app.resources import local_folders
from pipeline.health import MIN_FREE_FILES
from pipeline.runtime.durable_files import free_files
from pipeline.settings import Settings

MIB, GIB = 1024**2, 1024**3
MIN_PYTHON = (3, 11)
MIN_FREE_BYTES, LOW_FREE_BYTES = 1 * GIB, 5 * GIB
SLOW_FSYNC_MS = 20.0
"""Limit for a synced write: every acknowledged write waits for one."""
BASE_MEMORY_BYTES = 500 * MIB
"""Memory of the process without the index cache, as in docs/guides/troubleshoot.md."""
MIN_SECRET_CHARACTERS = 24
_CGROUP_MEMORY_FILE = Path("/sys/fs/cgroup/memory.max")
_EARLIEST_PLAUSIBLE_TIME = datetime(2025, 1, 1, tzinfo=UTC)
"""Earlier times mean that the clock is wrong."""


async def check_python() -> list[CheckResult]:
    """Check the interpreter, and that recollect is installed into it."""
    python = f"Python {sys.version.split()[0]} at {sys.executable}"
    if sys.version_info < MIN_PYTHON:
        return [("problem", f"{python} is too old.", "Install Python 3.11 or newer, then `make install`.")]
    try:
        return [passed(f"{python}, recollect {version('recollect')}")]
    except PackageNotFoundError:
        return [("problem", f"recollect is not installed into {python}.", "Run `make install`.")]


async def check_disk(settings: Settings) -> list[CheckResult]:
    """Check free space, permission to write and the speed of synced writes."""
    checks = [asyncio.to_thread(_check_disk_blocking, folder.absolute()) for folder in local_folders(settings)]
    return [finding for findings in await asyncio.gather(*checks) for finding in findings]


def _check_disk_blocking(folder: Path) -> list[CheckResult]:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        message = f"The user {getuser()} can't write to {existing}."
        return [("problem", message, f"`chown` it, or choose another folder than {folder} in the settings.")]
    free = shutil.disk_usage(existing).free
    space = f"{free / GIB:.1f} GiB free for {folder}"
    results: list[CheckResult] = [passed(space)]
    if free < LOW_FREE_BYTES:
        remedy = "Free some space, or choose a folder on a larger disk."
        results = [("problem" if free < MIN_FREE_BYTES else "warning", f"Only {space}.", remedy)]
    files = free_files(existing)
    if files is not None and files < MIN_FREE_FILES:
        results.append(
            ("problem", f"Only {files} more files (inodes) can be made in {folder}.", "Remove some files there.")
        )
    milliseconds = _fsync_milliseconds(existing)
    message = f"a synced write takes {milliseconds:.1f} ms in {existing}"
    if milliseconds > SLOW_FSYNC_MS:
        remedy = "Put it on a local SSD: every acknowledged write waits for one in RECOLLECT_DATA_DIR."
        return [*results, ("warning", f"Slow: {message}.", remedy)]
    return [*results, passed(message)]


def _fsync_milliseconds(folder: Path) -> float:
    """Return the median milliseconds of five small synced writes."""
    seconds = []
    with TemporaryFile(dir=folder) as file:
        for _ in range(5):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            seconds.append(time.perf_counter() - began)
    return statistics.median(seconds) * 1000


async def check_memory(settings: Settings) -> list[CheckResult]:
    """Compare the available memory with what the settings allow the process to use."""
    limit = await asyncio.to_thread(_memory_limit)
    serving = BASE_MEMORY_BYTES + settings.index_cache_bytes
    parsing = settings.parse_workers * settings.parse_memory_mb * MIB
    message = f"{limit / GIB:.1f} GiB, of which serving takes up to {serving / GIB:.1f}"
    if limit < serving:
        return [("problem", f"{message}.", "Provide more memory, or lower RECOLLECT_INDEX_CACHE_BYTES.")]
    if limit < serving + parsing:
        remedy = "Lower RECOLLECT_PARSE_MEMORY_MB or RECOLLECT_PARSE_WORKERS, or provide more memory."
        message = f"{message}; parsing large files may take {parsing / GIB:.1f} more."
        return [("warning", message, remedy)]
    return [passed(f"{message}, and parsing files {parsing / GIB:.1f} more")]


def _memory_limit() -> int:
    """Return the bytes of memory available to this process."""
    cgroup = _CGROUP_MEMORY_FILE.read_text().strip() if _CGROUP_MEMORY_FILE.exists() else "max"
    total: int = psutil.virtual_memory().total
    return min(total, int(cgroup)) if cgroup.isdecimal() else total


async def check_port(settings: Settings) -> list[CheckResult]:
    """Check that the service answers at the port, or could listen on it."""
    if settings.port == 0:
        return [passed("a free port is chosen at the start")]
    where = f"{settings.host}:{settings.port}"
    host = "127.0.0.1" if settings.host in {"0.0.0.0", "::"} else settings.host  # noqa: S104
    try:
        async with httpx2.AsyncClient(base_url=f"http://{host}:{settings.port}", timeout=2.0) as client:
            health = await client.get("/health")
            if health.is_success and health.json() == {"status": "ok"}:
                return [passed(f"recollect answers at {where}"), *_readiness_results(await client.get("/ready"))]
    except (httpx2.ConnectError, httpx2.ConnectTimeout):
        return await asyncio.to_thread(_check_port_free, settings.host, settings.port)
    except httpx2.TimeoutException:
        remedy = "Run `recollect doctor` again when the machine is less busy, or look which program listens there."
        return [("warning", f"Nothing answered at {where} within 2 s.", remedy)]
    except (httpx2.TransportError, ValueError):
        pass
    remedy = "Set RECOLLECT_PORT to another port, or stop that program."
    return [("problem", f"Another program listens on {where}.", remedy)]


def _readiness_results(ready: httpx2.Response) -> list[CheckResult]:
    remedy = "Read the server's log and the checks below."
    return [
        ("problem", f"Not ready: {issue['part']}: {issue['reason']}", remedy)
        for issue in ready.json().get("reasons", [])
    ]


def _check_port_free(host: str, number: int) -> list[CheckResult]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, number))
        except OSError as error:
            remedy = "Set RECOLLECT_HOST to an address of this machine, or RECOLLECT_PORT to a free port."
            return [("problem", f"Can't listen on {host}:{number}: {error.strerror}.", remedy)]
    return [passed(f"{host}:{number} is free; no service listens there")]


async def check_secrets(settings: Settings, validate_key: Callable[[str], object]) -> list[CheckResult]:
    """Check that secrets are strong, private and well formed.

    `validate_key`: raises ValueError for a malformed RECOLLECT_SECRET_KEY.
    """
    results: list[CheckResult] = []
    admin = settings.admin_key
    if admin is not None and len(admin.get_secret_value()) < MIN_SECRET_CHARACTERS:
        message = f"RECOLLECT_ADMIN_KEY has less than {MIN_SECRET_CHARACTERS} characters."
        remedy = 'Create one with `python -c "import secrets; print(secrets.token_urlsafe(32))"`.'
        results.append(("warning", message, remedy))
    if settings.secret_key is not None:
        validate_key(settings.secret_key.get_secret_value())
    elif any((settings.notion_client_id, settings.github_client_id, settings.google_client_id)):
        message = "Connectors are set up, but RECOLLECT_SECRET_KEY is not set."
        remedy = "Set it to the output of `recollect connectors key`, and keep a copy elsewhere."
        results.append(("problem", message, remedy))
    if not _is_loopback(settings.host) and not (settings.public_url or "").startswith("https://"):
        message = f"It listens on {settings.host} without TLS: others in the network can read keys."
        remedy = "Put a proxy with TLS in front, and set RECOLLECT_PUBLIC_URL to its https address."
        results.append(("warning", message, remedy))
    results += [
        result
        for path in (settings.data_dir, settings.data_dir / ADMIN_KEY_FILE, Path(".env"))
        for result in _check_permissions(path)
    ]
    return results or [passed("strong and not readable by others")]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_permissions(path: Path) -> list[CheckResult]:
    if not path.exists() or not path.stat().st_mode & stat.S_IROTH:
        return []
    mode = "700" if path.is_dir() else "600"
    return [("warning", f"Everybody on this machine can read {path}.", f"chmod {mode} {path}")]


async def check_clock(newest_record_at: datetime | None) -> list[CheckResult]:
    """Check that the clock is plausible: not before the newest record of the log."""
    now = datetime.now(UTC)
    remedy = "Synchronize the machine's clock (NTP): versions of memories follow times."
    if now < _EARLIEST_PLAUSIBLE_TIME:
        return [("problem", f"It says {now:%Y-%m-%d %H:%M} UTC.", remedy)]
    if newest_record_at is not None and newest_record_at > now:
        newest = f"the newest record of the log is of {newest_record_at:%Y-%m-%d %H:%M:%S}"
        return [("problem", f"It says {now:%Y-%m-%d %H:%M:%S} UTC; {newest}.", remedy)]
    return [passed(f"{now:%Y-%m-%d %H:%M:%S} UTC")]
