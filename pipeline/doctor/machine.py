"""The machine that a deployment runs on: Python, disk, memory, port, secrets, clock."""

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
from importlib.metadata import PackageNotFoundError, version
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryFile

import httpx2
import psutil

from pipeline.doctor.findings import Found, well
from pipeline.settings import Settings

MIB, GIB = 1024**2, 1024**3
PYTHON = (3, 11)
LEAST_FREE, LITTLE_FREE = 1 * GIB, 5 * GIB
SLOW_SYNC_MS = 20.0
"""Every acknowledged write waits for one."""
BESIDE_CACHE = 250 * MIB
"""What the process needs beside the hot cache, as docs/guides/troubleshoot.md says."""
SHORT_SECRET = 24
_CGROUP = Path("/sys/fs/cgroup/memory.max")
_MADE = datetime(2025, 1, 1, tzinfo=UTC)
"""No clock that is right says less."""


async def python() -> list[Found]:
    """The interpreter, and that this is installed into it."""
    here = f"Python {sys.version.split()[0]} at {sys.executable}"
    if sys.version_info < PYTHON:
        return [("problem", f"{here} is too old.", "Install Python 3.11 or newer, then `make install`.")]
    try:
        return [well(f"{here}, recollect {version('recollect')}")]
    except PackageNotFoundError:
        return [("problem", f"recollect is not installed into {here}.", "Run `make install`.")]


async def disk(settings: Settings) -> list[Found]:
    """Room, and whether and how fast what is written is safe."""
    return await asyncio.to_thread(_disk, settings.data_dir.absolute())


def _disk(folder: Path) -> list[Found]:
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(there, os.W_OK):
        who = f"{there} can't be written by the user {os.getuid()}."
        return [("problem", who, f"`chown` it, or set RECOLLECT_DATA_DIR to another folder than {folder}.")]
    free = shutil.disk_usage(there).free
    room = f"{free / GIB:.1f} GiB free for {folder}"
    more = "Make room, or set RECOLLECT_DATA_DIR to a larger disk."
    found: list[Found] = [well(room)]
    if free < LITTLE_FREE:
        found = [("problem" if free < LEAST_FREE else "warning", f"Only {room}.", more)]
    took = _synced(there)
    said = f"a synced write takes {took:.1f} ms"
    if took > SLOW_SYNC_MS:
        local = "Put RECOLLECT_DATA_DIR on a local SSD: every acknowledged write waits for one."
        return [*found, ("warning", f"Slow: {said}.", local)]
    return [*found, well(said)]


def _synced(folder: Path) -> float:
    """Milliseconds of a small write that is on disk, the median of five."""
    took = []
    with TemporaryFile(dir=folder) as file:
        for _ in range(5):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - began)
    return statistics.median(took) * 1000


async def memory(settings: Settings) -> list[Found]:
    """What is there, beside what the settings may take."""
    limit = await asyncio.to_thread(_limit)
    serving = BESIDE_CACHE + settings.cache_bytes
    reading = settings.extract_workers * settings.extract_memory_mb * MIB
    has = f"{limit / GIB:.1f} GiB, of which serving takes up to {serving / GIB:.1f}"
    if limit < serving:
        return [("problem", f"{has}.", "Give it more memory, or lower RECOLLECT_CACHE_BYTES.")]
    if limit < serving + reading:
        fewer = "Lower RECOLLECT_EXTRACT_MEMORY_MB or RECOLLECT_EXTRACT_WORKERS, or give it more memory."
        files = f"{has}; large files may take {reading / GIB:.1f} more while they are read."
        return [("warning", files, fewer)]
    return [well(f"{has}, and reading files {reading / GIB:.1f} more")]


def _limit() -> int:
    """Bytes of memory that this process may have."""
    bound = _CGROUP.read_text().strip() if _CGROUP.exists() else "max"
    total: int = psutil.virtual_memory().total
    return min(total, int(bound)) if bound.isdecimal() else total


async def port(settings: Settings) -> list[Found]:
    """Whether the service answers there, could, or somebody else has the port."""
    if settings.port == 0:
        return [well("a free port is taken at the start")]
    where = f"{settings.host}:{settings.port}"
    host = "127.0.0.1" if settings.host in {"0.0.0.0", "::"} else settings.host  # noqa: S104 - what listens there is asked here
    try:
        async with httpx2.AsyncClient(base_url=f"http://{host}:{settings.port}", timeout=2.0) as client:
            health = await client.get("/health")
            if health.is_success and health.json() == {"status": "ok"}:
                return [well(f"recollect answers at {where}"), *_readiness(await client.get("/ready"))]
    except (httpx2.ConnectError, httpx2.ConnectTimeout):
        return await asyncio.to_thread(_listening, settings.host, settings.port)
    except (httpx2.TransportError, ValueError):
        pass
    other = "Set RECOLLECT_PORT to another one, or end that program."
    return [("problem", f"Another program has {where}.", other)]


def _readiness(ready: httpx2.Response) -> list[Found]:
    troubles = ready.json().get("reasons", [])
    return [
        (
            "problem",
            f"Not ready: {one['part']}: {one['reason']}",
            "See the server's log, and the parts below.",
        )
        for one in troubles
    ]


def _listening(host: str, number: int) -> list[Found]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, number))
        except OSError as error:
            other = "Set RECOLLECT_HOST to an address of this machine, or RECOLLECT_PORT to a free one."
            return [("problem", f"Nobody can listen on {host}:{number}: {error.strerror}.", other)]
    return [well(f"{host}:{number} is free; no service runs there")]


async def secrets(settings: Settings, see_key: Callable[[str], object]) -> list[Found]:
    """Keys that are weak, readable by others, or not what they must be. `see_key`: ValueError, for people."""
    found: list[Found] = []
    admin = settings.admin_key
    if admin is not None and len(admin.get_secret_value()) < SHORT_SECRET:
        longer = 'Make one with `python -c "import secrets; print(secrets.token_urlsafe(32))"`.'
        found.append(("warning", f"RECOLLECT_ADMIN_KEY has less than {SHORT_SECRET} characters.", longer))
    sealing = settings.secret_key
    if sealing is not None:
        see_key(sealing.get_secret_value())
    elif any((settings.notion_client_id, settings.github_client_id, settings.google_client_id)):
        made = "Set it to what `recollect connectors key` prints, and keep that elsewhere too."
        found.append(("problem", "Connectors are set up, but RECOLLECT_SECRET_KEY is not.", made))
    if not _is_local(settings.host) and not (settings.public_url or "").startswith("https://"):
        tls = "Put a proxy with TLS in front, and set RECOLLECT_PUBLIC_URL to its https address."
        found.append(
            ("warning", f"It listens on {settings.host} without TLS: keys can be read on the way.", tls)
        )
    found += [one for path in (settings.data_dir, Path(".env")) for one in _readable(path)]
    return found or [well("none is weak or readable by others")]


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _readable(path: Path) -> list[Found]:
    if not path.exists() or not path.stat().st_mode & stat.S_IROTH:
        return []
    mode = "700" if path.is_dir() else "600"
    return [("warning", f"Everybody on this machine can read {path}.", f"chmod {mode} {path}")]


async def clock(newest: datetime | None) -> list[Found]:
    """Whether it can be right. `newest`: when the log took its last record."""
    now = datetime.now(UTC)
    sync = "Let the machine keep its time (NTP); versions of memories follow times."
    if now < _MADE:
        return [("problem", f"It says {now:%Y-%m-%d %H:%M} UTC.", sync)]
    if newest is not None and newest > now:
        ahead = (
            f"It says {now:%Y-%m-%d %H:%M:%S} UTC, and the log has a record of {newest:%Y-%m-%d %H:%M:%S}."
        )
        return [("problem", ahead, sync)]
    return [well(f"{now:%Y-%m-%d %H:%M:%S} UTC")]
