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
from rich.console import Console
from rich.table import Table

from bench.server import unconfigured
from tests.browser import DRIVER, chromium
from tests.e2e import guides
from tests.mcp import connected, told

FACT, QUESTION = "My name is Alice. I live in Lisbon and I play the cello.", "Where does she live?"
SUPERMEMORY = "supermemory==5.0.1"


@dataclass
class Trial:
    """A new user in a folder with a clone; `steps`: what was done, with how many commands, by when."""

    clone: Path
    variables: dict[str, str]
    steps: list[tuple[str, int, float]] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def reached(self, what: str, commands: int) -> None:
        """With so many commands, or clicks and words typed, since the step before."""
        self.steps.append((what, commands, time.perf_counter() - self.began))

    def type(self, *words: str) -> str:
        """A command; what it prints."""
        done = subprocess.run(  # noqa: S603 - what the guides say
            words, cwd=self.clone, env=self.variables, check=True, capture_output=True, text=True
        )
        return done.stdout

    def recollect(self, *words: str) -> str:
        """The command of the clone."""
        return self.type(str(self.clone / ".venv" / "bin" / "recollect"), *words)


@contextmanager
def _running(trial: Trial) -> Iterator[tuple[str, str]]:
    """`make run`: the address and the key that it prints."""
    with subprocess.Popen(
        ["make", "run"],  # noqa: S607 - make as it is installed
        cwd=trial.clone,
        env=trial.variables | {"RECOLLECT_PORT": "0"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            said = ""
            while "rk_" not in said:
                line = process.stdout.readline()
                assert line, f"`make run` ended:\n{said}"
                said += line
            yield re.findall(r"answers at (\S+)", said)[0], re.findall(r"rk_\S+", said)[0]
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def _commands(trial: Trial) -> None:
    trial.recollect("add", "alice", FACT, "--wait")
    assert "Lisbon" in trial.recollect("search", "alice", QUESTION)
    trial.reached("a recall on the command line", 4)


def _official_client(trial: Trial, url: str, key: str) -> None:
    """The program of the README's first screen, in an environment that has only the client."""
    own = trial.clone.parent / "own"
    trial.type(sys.executable, "-m", "venv", str(own))
    trial.type(str(own / "bin" / "pip"), "install", "--quiet", SUPERMEMORY)
    readme = trial.clone / "README.md"
    (program,) = [block.text for block in guides.blocks(readme) if block.language == "python"]
    program = program.replace("http://127.0.0.1:8787", url).replace("rk_…", key)
    assert "Lisbon" in trial.type(str(own / "bin" / "python"), "-c", program)
    trial.reached("a recall in the official client", 3)


async def _assistants(trial: Trial, url: str) -> None:
    key = trial.recollect("keys", "create", "assistant", "--role", "write", "--namespace", "alice").strip()
    async with httpx2.AsyncClient(
        base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=60.0
    ) as http:
        async with connected(http) as client:
            assert "Lisbon" in await told(client, "search_memory", query=QUESTION)
    trial.reached("a recall over MCP, by HTTP", 2)
    started = StdioServerParameters(
        command=str(trial.clone / ".venv" / "bin" / "recollect"),
        args=["mcp"],
        env=trial.variables | {"RECOLLECT_API_KEY": key, "RECOLLECT_URL": url},
    )
    async with Client(stdio_client(started)) as client:
        assert "Lisbon" in await told(client, "search_memory", query=QUESTION)
    trial.reached("a recall over MCP, by `recollect mcp`", 1)


async def _console(trial: Trial, url: str, key: str) -> None:
    async with chromium(trial.clone.parent / "browser") as browser:
        await browser.open(url)
        await browser.until("return document.querySelector('.sign-in button')")
        await browser.fill("#key", key)
        await browser.click(".sign-in button")
        await browser.until("return document.querySelector('td a, th a')")
        await browser.click("td a, th a")
        await browser.until("return document.querySelector('main input[type=search]')")
        await browser.fill("main input[type=search]", QUESTION)
        await browser.press("enter")
        await browser.until("return document.querySelector('.result')?.innerText.includes('Lisbon')")
    trial.reached("a recall in the console", 5)


def _show(trial: Trial) -> None:
    table = Table("", "commands", "seconds", box=None)
    before = 0.0
    for what, commands, seconds in trial.steps:
        table.add_row(what, str(commands), f"{seconds - before:.0f}")
        before = seconds
    table.add_row("all", str(sum(commands for _, commands, _ in trial.steps)), f"{before:.0f}")
    Console().print(table)


def main() -> None:
    """What is committed, in a folder that is removed again."""
    with TemporaryDirectory(prefix="recollect-trial-", ignore_cleanup_errors=True) as folder:
        trial = Trial(Path(folder) / "recollect", unconfigured())
        subprocess.run(["git", "clone", "--quiet", str(guides.ROOT), str(trial.clone)], check=True)  # noqa: S603, S607 - this repository
        trial.reached("a clone", 2)
        with _running(trial) as (url, key):
            trial.reached("a service and a key", 1)
            trial.variables |= {"RECOLLECT_API_KEY": key}
            _commands(trial)
            _official_client(trial, url, key)
            asyncio.run(_assistants(trial, url))
            if DRIVER is not None:
                asyncio.run(_console(trial, url, key))
        _show(trial)


if __name__ == "__main__":
    main()
