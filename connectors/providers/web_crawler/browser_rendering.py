"""Rendering of pages that need JavaScript, in the headless Chromium that the operator names."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired
from tempfile import TemporaryDirectory
from typing import IO, Final, Protocol

from connectors.client.guarded_proxy import GuardedProxy
from connectors.client.http_client import USER_AGENT
from connectors.errors import ItemError
from pipeline.parsing.url_fetcher import Resolver, resolve_host
from schemas.limits import MAX_FETCH_BYTES
from schemas.public_addresses import Address, is_public

_TIMEOUT_SECONDS: Final = 60.0
_MAX_TRANSFER_BYTES: Final = 10 * MAX_FETCH_BYTES
"""Bytes that a page may load with its scripts and data."""
_ARGUMENTS: Final = (
    *("--headless", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-breakpad"),
    *("--dns-prefetch-disable", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--mute-audio"),
    *("--blink-settings=imagesEnabled=false", "--virtual-time-budget=10000", "--proxy-bypass-list=<-loopback>"),
    f"--user-agent={USER_AGENT}",
    "--dump-dom",
)


class PageRenderer(Protocol):
    async def render(self, url: str) -> str:
        """Return the markup of a page after its scripts have run; ItemError if there is none."""


@dataclass(frozen=True, slots=True)
class ChromiumRenderer:
    """Headless Chromium, one process for each page, which reaches only addresses that `is_allowed` accepts.

    `command` is the program with arguments that its machine needs.
    """

    command: Sequence[str]
    is_allowed: Callable[[Address], bool] = is_public
    resolver: Resolver = resolve_host
    timeout_seconds: float = _TIMEOUT_SECONDS

    async def render(self, url: str) -> str:
        """Render a page in a new profile, which is removed afterwards."""
        proxy = GuardedProxy(self.resolver, self.is_allowed, _MAX_TRANSFER_BYTES)
        with TemporaryDirectory(prefix="recollect-browser-", ignore_cleanup_errors=True) as folder:
            output = Path(folder) / "page.html"
            async with proxy.listen() as address:
                with output.open("wb") as file:
                    await self._run(
                        [f"--proxy-server={address}", f"--user-data-dir={folder}/profile", url], file, folder
                    )
            return await asyncio.to_thread(_read_page, output)

    async def _run(self, arguments: Sequence[str], output: IO[bytes], folder: str) -> None:
        process = _start([*self.command, *_ARGUMENTS, *arguments], output, folder)
        try:
            status = await asyncio.to_thread(process.wait, self.timeout_seconds)
        except TimeoutExpired as error:
            message = f"The browser did not finish the page within {self.timeout_seconds:g} s."
            raise ItemError(message, code="needs_javascript", retryable=True) from error
        finally:
            await asyncio.shield(asyncio.to_thread(_end, process))
        if status != 0:
            message = f"The browser of RECOLLECT_CRAWLER_BROWSER failed with status {status}."
            raise ItemError(message, code="needs_javascript", retryable=True)


def _start(command: Sequence[str], output: IO[bytes], folder: str) -> "Popen[bytes]":
    """Start the browser; not through asyncio, whose uvloop forks instead of using vfork."""
    try:
        return Popen(  # noqa: S603 - the operator's program; the URL is normalized, so it is not an option
            command,
            stdin=DEVNULL,
            stdout=output,
            stderr=DEVNULL,
            env={"PATH": os.environ.get("PATH", ""), "HOME": folder},
            start_new_session=True,
        )
    except OSError as error:
        message = f"The browser of RECOLLECT_CRAWLER_BROWSER can't be started ({error.strerror})."
        raise ItemError(message, code="needs_javascript", retryable=True) from error


def _end(process: "Popen[bytes]") -> None:
    """Kill a browser that still runs, with its children."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


def _read_page(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(MAX_FETCH_BYTES + 1)
    if len(data) > MAX_FETCH_BYTES:
        raise ItemError(
            f"The page has more than {MAX_FETCH_BYTES:,} bytes once its scripts have run.", code="too_large"
        )
    return data.decode(errors="replace")
