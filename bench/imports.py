"""`python -m bench.imports`: speed and memory of `recollect import --from`, on exports made to the published shapes.

Each format is imported into a server of its own: once interrupted by SIGKILL half-way and repeated, then repeated
once more. Documents are counted at the server.
"""

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import psutil

from app.cli.importing.sent_items import FILE_NAME
from bench.service_process import PROGRAM, Server, unconfigured

DEFAULT_ITEMS = 10_000
_START = datetime(2023, 1, 1, 9, tzinfo=UTC)
_NAMES = ("Ann", "Bob", "Cem", "Dora")
_WORDS = ("garden", "harbour", "violin", "market", "winter", "bicycle", "letter", "bridge", "kitchen", "mountain")


def _sentence(rng: random.Random) -> str:
    return f"I saw the {rng.choice(_WORDS)} near the {rng.choice(_WORDS)} and thought of the {rng.choice(_WORDS)}."


def _stream(file: Path, head: str, rows: Iterator[Any], tail: str) -> Path:
    with file.open("w") as out:
        out.write(head)
        for number, row in enumerate(rows):
            out.write(("," if number else "") + json.dumps(row))
        out.write(tail)
    return file


def _mem0(folder: Path, count: int, rng: random.Random) -> Path:
    rows = (
        {
            "id": f"m{n}",
            "memory": _sentence(rng),
            "user_id": "ann",
            "created_at": (_START + timedelta(hours=n)).isoformat(),
        }
        for n in range(count)
    )
    return _stream(folder / "mem0.json", '{"results": [', rows, "]}")


def _chatgpt(folder: Path, count: int, rng: random.Random) -> Path:
    def conversation(number: int) -> dict[str, Any]:
        at = (_START + timedelta(hours=number)).timestamp()
        nodes: dict[str, Any] = {"root": {"id": "root", "parent": None, "message": None, "children": []}}
        parent = "root"
        for turn in range(6):
            role = "assistant" if turn % 2 else "user"
            content = {"content_type": "text", "parts": [_sentence(rng)]}
            message = {"author": {"role": role}, "create_time": at + turn, "content": content, "recipient": "all"}
            nodes[f"n{turn}"] = {"id": f"n{turn}", "parent": parent, "message": message, "children": []}
            parent = f"n{turn}"
        return {
            "conversation_id": f"c{number}",
            "title": "Talk",
            "create_time": at,
            "mapping": nodes,
            "current_node": parent,
        }

    file = _stream(folder / "conversations.json", "[", map(conversation, range(count)), "]")
    with zipfile.ZipFile(folder / "chatgpt.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(file, file.name)
    return folder / "chatgpt.zip"


def _claude(folder: Path, count: int, rng: random.Random) -> Path:
    def conversation(number: int) -> dict[str, Any]:
        at = _START + timedelta(hours=number)
        messages = [
            {
                "uuid": f"m{number}-{turn}",
                "sender": "assistant" if turn % 2 else "human",
                "text": "",
                "content": [{"type": "text", "text": _sentence(rng)}],
                "created_at": (at + timedelta(seconds=turn)).isoformat(),
                "attachments": [],
                "files": [],
            }
            for turn in range(6)
        ]
        return {"uuid": f"c{number}", "name": "Talk", "created_at": at.isoformat(), "chat_messages": messages}

    file = _stream(folder / "conversations.json", "[", map(conversation, range(count)), "]")
    with zipfile.ZipFile(folder / "claude.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(file, file.name)
    return folder / "claude.zip"


def _zep(folder: Path, count: int, rng: random.Random) -> Path:
    rows = (
        {
            "uuid": f"e{n}",
            "content": _sentence(rng),
            "source": "text",
            "group_id": "ann",
            "created_at": (_START + timedelta(hours=n)).isoformat(),
        }
        for n in range(count)
    )
    return _stream(folder / "episodes.json", '{"episodes": [', rows, "]}")


def _supermemory(folder: Path, count: int, rng: random.Random) -> Path:
    rows = (
        {
            "id": f"d{n}",
            "customId": None,
            "title": "Note",
            "content": _sentence(rng),
            "containerTags": ["ann"],
            "metadata": {"number": n},
            "createdAt": (_START + timedelta(hours=n)).isoformat(),
        }
        for n in range(count)
    )
    return _stream(folder / "export.json", '{"memories": [', rows, "]}")


def _whatsapp(folder: Path, count: int, rng: random.Random) -> Path:
    """A message every ten minutes, ten a day, so that the number of documents is `count`."""
    file = folder / "WhatsApp Chat with Ann.txt"
    with file.open("w") as out:
        for day in range(count):
            for minute in range(0, 100, 10):
                at = _START - timedelta(days=count - day) + timedelta(minutes=minute)
                out.write(f"{at:%d/%m/%Y, %H:%M} - {rng.choice(_NAMES)}: {_sentence(rng)}\n")
    return file


def _slack(folder: Path, count: int, rng: random.Random) -> Path:
    """Ten channels with ten messages a day."""
    with zipfile.ZipFile(folder / "slack.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("users.json", json.dumps([{"id": name, "real_name": name} for name in _NAMES]))
        archive.writestr("channels.json", json.dumps([{"id": f"C{n}", "name": f"room{n}"} for n in range(10)]))
        for number in range(count):
            at = _START + timedelta(days=number // 10)
            messages = [
                {
                    "type": "message",
                    "user": rng.choice(_NAMES),
                    "text": _sentence(rng),
                    "ts": f"{at.timestamp() + n:.6f}",
                }
                for n in range(10)
            ]
            archive.writestr(f"room{number % 10}/{at:%Y-%m-%d}.json", json.dumps(messages))
    return folder / "slack.zip"


def _discord(folder: Path, count: int, rng: random.Random) -> Path:
    def messages() -> Iterator[dict[str, Any]]:
        for number in range(count * 10):
            at = _START - timedelta(days=count) + timedelta(days=number // 10, seconds=number % 10)
            author = {"name": rng.choice(_NAMES), "nickname": None}
            yield {
                "id": str(number),
                "type": "Default",
                "timestamp": at.isoformat(),
                "content": _sentence(rng),
                "author": author,
            }

    head = '{"guild": {"id": "1", "name": "G"}, "channel": {"id": "2", "name": "general"}, "messages": ['
    return _stream(folder / "discord.json", head, messages(), "]}")


def _mbox(folder: Path, count: int, rng: random.Random) -> Path:
    file = folder / "mail.mbox"
    with file.open("w") as out:
        for number in range(count):
            at = _START + timedelta(hours=number)
            written = f"{at:%a, %d %b %Y %H:%M:%S} +0000"
            head = f"Message-ID: <{number}@x.example>\nFrom: a@x.example\nSubject: Note {number}\nDate: {written}"
            out.write(f"From ann@x.example {at:%a %b %d %H:%M:%S %Y}\n{head}\n\n{_sentence(rng)}\n\n")
    return file


def _markdown(folder: Path, count: int, rng: random.Random) -> Path:
    vault = folder / "vault"
    for number in range(count):
        note = vault / f"{number // 100:03}" / f"note {number}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(
            f"---\ntags: [{rng.choice(_WORDS)}]\ncreated: 2024-01-01\n---\n# Note {number}\n\n{_sentence(rng)}\n"
        )
    return vault


FORMATS: dict[str, Callable[[Path, int, random.Random], Path]] = {
    "mem0": _mem0,
    "zep": _zep,
    "supermemory": _supermemory,
    "chatgpt": _chatgpt,
    "claude": _claude,
    "whatsapp": _whatsapp,
    "slack": _slack,
    "discord": _discord,
    "mbox": _mbox,
    "markdown": _markdown,
}


def main(words: list[str]) -> None:
    """Measure the named formats, or all; a number sets the count of documents."""
    count = next((int(word) for word in words if word.isdigit()), DEFAULT_ITEMS)
    chosen = [word for word in words if word in FORMATS] or list(FORMATS)
    print("| format | documents | source MB | documents/s | again, documents/s | memory MB | documents after kill -9 |")
    print("|---|---|---|---|---|---|---|")
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            print(_measure(name, Path(folder), count), flush=True)


def _measure(name: str, folder: Path, count: int) -> str:
    source = FORMATS[name](folder, count, random.Random(1))
    size = sum(file.stat().st_size for file in ([source] if source.is_file() else source.rglob("*")) if file.is_file())
    with Server(folder / "data", {"RECOLLECT_EMBEDDER": "none"}) as server:
        command = [PROGRAM, "import", "--from", name, str(source), "--json", "--url", server.url, "--key", server.key]
        whole, peak, done = _run([*command, "--namespace", "whole"], folder / "client")
        again, _, repeated = _run([*command, "--namespace", "whole"], folder / "client")
        _kill_half_way([*command, "--namespace", "killed"], folder / "client", server, count)
        _, _, resumed = _run([*command, "--namespace", "killed"], folder / "client")
        after = _documents(server, "killed")
    if (done["imported"], repeated["unchanged"], repeated["imported"]) != (count, count, 0):
        raise SystemExit(f"{name}: {done} then {repeated}")
    note = f"{after:,} ({resumed['unchanged']:,} were there)"
    return (
        f"| {name} | {count:,} | {size / 1e6:.1f} | {count / whole:,.0f} | {count / again:,.0f} | {peak:.0f} | {note} |"
    )


def _run(command: list[str], data: Path) -> tuple[float, float, dict[str, Any]]:
    """Return seconds, the most memory in MB, and the report."""
    began, peak = time.perf_counter(), 0
    variables = unconfigured() | {"RECOLLECT_DATA_DIR": str(data)}
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=sys.stderr) as process:  # noqa: S603 - our own command
        watched = psutil.Process(process.pid)

        def watch() -> None:
            nonlocal peak
            while process.poll() is None:
                try:
                    peak = max(peak, watched.memory_info().rss)
                except psutil.NoSuchProcess:
                    return
                time.sleep(0.05)

        watcher = threading.Thread(target=watch)
        watcher.start()
        output, _ = process.communicate()
        watcher.join()
    return time.perf_counter() - began, peak / 1e6, json.loads(output)


def _kill_half_way(command: list[str], data: Path, server: Server, count: int) -> None:
    """Kill the import when the server has half of the documents."""
    variables = unconfigured() | {"RECOLLECT_DATA_DIR": str(data)}
    with subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL) as process:  # noqa: S603 - our own command
        while process.poll() is None and _documents(server, "killed") < count // 2:
            time.sleep(0.05)
        process.kill()
    if not (data / FILE_NAME).exists():
        raise SystemExit("nothing was recorded")


def _documents(server: Server, namespace: str) -> int:
    headers = {"Authorization": f"Bearer {server.key}"}
    answer = httpx2.post(
        f"{server.url}/ns/{namespace}/list/documents", params={"limit": 1}, json={}, headers=headers, timeout=60
    )
    return int(answer.json()["pagination"]["totalItems"]) if answer.is_success else 0


if __name__ == "__main__":
    main(sys.argv[1:])
