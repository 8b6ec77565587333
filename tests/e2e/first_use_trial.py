"""`make trial`: what a new user does, from a clean clone to a recall in each client, counted and timed."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from rich.table import Table

from app.cli.conventions import Terminal
from bench.service_process import unconfigured
from tests.support import guide_blocks
from tests.support.chromium import CHROMEDRIVER, chromium
from tests.support.mcp_client import call_tool_text, connected

SAMPLE_TEXT, SAMPLE_QUERY = "My name is Alice. I live in Lisbon and I play the cello.", "Where does she live?"
SUPERMEMORY = "supermemory==5.0.1"


@dataclass
class FirstUseTrial:
    """A new user in a folder with a clone; `steps`: what was done, with how many commands, by when."""

    clone: Path
    environment: dict[str, str]
    steps: list[tuple[str, int, float]] = field(default_factory=list)
    started_at: float = field(default_factory=time.perf_counter)

    def record_step(self, what: str, commands: int) -> None:
        """Record a step; `commands`: commands, clicks and typed words since the step before."""
        self.steps.append((what, commands, time.perf_counter() - self.started_at))

    def run_command(self, *words: str) -> str:
        """A command; what it prints."""
        done = subprocess.run(  # noqa: S603 - what the guides say
            words, cwd=self.clone, env=self.environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    def recollect(self, *words: str) -> str:
        """The command of the clone."""
        return self.run_command(str(self.clone / ".venv" / "bin" / "recollect"), *words)


@contextmanager
def _running_service(trial: FirstUseTrial) -> Iterator[tuple[str, str]]:
    """`make run`: the address and the key that it prints."""
    with subprocess.Popen(
        ["make", "run"],  # noqa: S607 - make as it is installed
        cwd=trial.clone,
        env=trial.environment | {"RECOLLECT_PORT": "0"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            output = ""
            while "rk_" not in output:
                line = process.stdout.readline()
                assert line, f"`make run` ended:\n{output}"
                output += line
            yield re.findall(r"answers at (\S+)", output)[0], re.findall(r"rk_\S+", output)[0]
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def _try_cli(trial: FirstUseTrial) -> None:
    trial.recollect("add", "alice", SAMPLE_TEXT, "--wait")
    assert "Lisbon" in trial.recollect("search", "alice", SAMPLE_QUERY)
    trial.record_step("a recall on the command line", 4)


def _try_official_client(trial: FirstUseTrial, url: str, key: str) -> None:
    """The program of the README's first screen, in an environment that has only the client."""
    own = trial.clone.parent / "own"
    trial.run_command(sys.executable, "-m", "venv", str(own))
    trial.run_command(str(own / "bin" / "pip"), "install", "--quiet", SUPERMEMORY)
    readme = trial.clone / "README.md"
    (program,) = [block.text for block in guide_blocks.parse_blocks(readme) if block.language == "python"]
    program = program.replace("http://127.0.0.1:8787", url).replace("rk_…", key)
    assert "Lisbon" in trial.run_command(str(own / "bin" / "python"), "-c", program)
    trial.record_step("a recall in the official client", 3)


async def _try_mcp(trial: FirstUseTrial, url: str) -> None:
    key = trial.recollect("keys", "create", "assistant", "--role", "write", "--namespace", "alice").strip()
    async with httpx2.AsyncClient(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=60.0) as http:
        async with connected(http) as client:
            assert "Lisbon" in await call_tool_text(client, "search_memory", query=SAMPLE_QUERY)
    trial.record_step("a recall over MCP, by HTTP", 2)
    started = StdioServerParameters(
        command=str(trial.clone / ".venv" / "bin" / "recollect"),
        args=["mcp"],
        env=trial.environment | {"RECOLLECT_API_KEY": key, "RECOLLECT_URL": url},
    )
    async with Client(stdio_client(started)) as client:
        assert "Lisbon" in await call_tool_text(client, "search_memory", query=SAMPLE_QUERY)
    trial.record_step("a recall over MCP, by `recollect mcp`", 1)


async def _try_console(trial: FirstUseTrial, url: str, key: str) -> None:
    async with chromium(trial.clone.parent / "browser") as browser:
        await browser.open(url)
        await browser.wait_until("return document.querySelector('.sign-in button')")
        await browser.fill("#key", key)
        await browser.click(".sign-in button")
        await browser.wait_until("return document.querySelector('main input[type=search]')")
        await browser.fill("main input[type=search]", SAMPLE_QUERY)
        await browser.press("enter")
        await browser.wait_until("return document.querySelector('.result')?.innerText.includes('Lisbon')")
    trial.record_step("a recall in the console", 4)


def _print_steps(trial: FirstUseTrial) -> None:
    table = Table("", "commands", "seconds", box=None)
    before = 0.0
    for what, commands, seconds in trial.steps:
        table.add_row(what, str(commands), f"{seconds - before:.0f}")
        before = seconds
    table.add_row("all", str(sum(commands for _, commands, _ in trial.steps)), f"{before:.0f}")
    Terminal().print(table)


def main() -> None:
    """Try the committed state in a temporary clone."""
    with TemporaryDirectory(prefix="recollect-trial-", ignore_cleanup_errors=True) as folder:
        trial = FirstUseTrial(Path(folder) / "recollect", unconfigured())
        subprocess.run(["git", "clone", "--quiet", str(guide_blocks.ROOT), str(trial.clone)], check=True)  # noqa: S603, S607 - this repository
        trial.record_step("a clone", 2)
        with _running_service(trial) as (url, key):
            trial.record_step("a service and a key", 1)
            trial.environment |= {"RECOLLECT_API_KEY": key}
            _try_cli(trial)
            _try_official_client(trial, url, key)
            asyncio.run(_try_mcp(trial, url))
            if CHROMEDRIVER is not None:
                asyncio.run(_try_console(trial, url, key))
        _print_steps(trial)


if __name__ == "__main__":
    main()
