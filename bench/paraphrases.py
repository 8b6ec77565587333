"""`python -m bench.paraphrases`: facts asked for in other words, in 22 languages, over HTTP with all defaults.

A server of its own remembers ten facts in a namespace. Asked are their questions, and questions about something
else, which should find nothing; English questions about facts in another language; facts among the sections of
a guide (`--data` names the folder); and statements that a later one replaces. Beside it MiniLM's cosine, which is
what Chroma does by default. Only locked lines count; `--open` shows those that the ranking was tuned on.
"""

import argparse
import asyncio
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.datasets.paraphrases import LANGUAGES, MORE_LANGUAGES, Paraphrases, paraphrases
from bench.http_connection import HttpConnection
from bench.memory.minilm import MiniLM
from bench.recall import DATA
from bench.service_polling import wait_for_zero_lag
from bench.service_process import Server

TOGETHER = 10
"""Facts in a namespace."""
GUIDES = {"en": "en", "de": "de", "fr": "fr", "ja": "ja", "zh": "zh-hans"}
_MIN_SECTION_CHARS = 150
_HEADING = re.compile(r"^#{2,4} +(.+)$", re.MULTILINE)


@dataclass
class Ranks:
    """Places of the right answer, from 0; None where it is not among the results, -1 where there are none."""

    places: list[int | None] = field(default_factory=list)

    def add(self, found: Sequence[str], right: str) -> None:
        """Count the documents of one answer, best first."""
        self.places.append(-1 if not found else found.index(right) if right in found else None)

    def cells(self) -> str:
        """First, in three and empty in percent."""
        count = len(self.places) or 1
        first = sum(place == 0 for place in self.places)
        three = sum(place is not None and 0 <= place < 3 for place in self.places)
        return f"{100 * first / count:.0f} | {100 * three / count:.0f} | {100 * self.places.count(-1) / count:.0f}"


def main() -> None:
    """Print the tables as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.paraphrases", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the guides")
    options.add_argument("--open", action="store_true", help="the open half")
    chosen = options.parse_args()
    languages = (*LANGUAGES, *MORE_LANGUAGES)
    halves = {language: paraphrases(language, locked=not chosen.open) for language in languages}
    guides = {
        language: [body for _, body in guide_sections(chosen.data / "languages" / folder)]
        for language, folder in GUIDES.items()
    }
    with (
        tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder,
        Server(Path(folder) / "data") as server,
    ):
        asyncio.run(_measure(server, halves, guides))


async def _measure(server: Server, halves: dict[str, Paraphrases], guides: dict[str, list[str]]) -> None:
    connection = HttpConnection(server.url, server.key)
    for language, half in halves.items():
        await _remember(connection, language, half, guides.get(language, []))
    await wait_for_zero_lag(connection)
    print(
        "| | first | in three | empty | MiniLM: first | in three | English question: first | in three | empty |", end=""
    )
    print(" among a guide: first | in three | empty | other questions silent | newer first | older found |")
    print("|---|" + 14 * "---:|", flush=True)
    model = MiniLM()
    for language, half in halves.items():
        cells = await _find_facts(connection, model, language, half, halves["en"])
        cells += await _find_among_guide(connection, language, half if guides.get(language) else None)
        cells += await _find_updates(connection, language, half)
        print(f"| {language} | {' | '.join(cells)} |", flush=True)
    await connection.close()


async def _remember(connection: HttpConnection, language: str, half: Paraphrases, guide: list[str]) -> None:
    facts = [fact for fact, _ in half.facts]
    for start in range(0, len(facts), TOGETHER):
        await _add(connection, f"{language}:{start}", facts[start : start + TOGETHER], start)
    if guide:
        await _add(connection, f"{language}:guide", [*facts[:TOGETHER], *guide], 0)
    await _add(connection, f"{language}:updates", [before for before, _, _ in half.updates], 0)
    await _add(connection, f"{language}:updates", [after for _, after, _ in half.updates], len(half.updates))


async def _add(connection: HttpConnection, namespace: str, texts: Sequence[str], first: int) -> None:
    documents = [{"id": str(at), "content": text} for at, text in enumerate(texts, first)]
    for start in range(0, len(documents), 100):
        body = {"documents": documents[start : start + 100], "dreaming": "instant"}
        await connection.post(f"/ns/{namespace}/document/batch", body)


def guide_sections(folder: Path) -> list[tuple[str, str]]:
    """Headings and texts of the sections of a guide; none where the folder is absent."""
    found = []
    for path in sorted(folder.glob("*.md")):
        parts = _HEADING.split(path.read_text("utf-8"))
        pairs = zip(parts[1::2], (body.strip() for body in parts[2::2]), strict=True)
        found += [(heading, body) for heading, body in pairs if len(body) >= _MIN_SECTION_CHARS]
    return found


async def _ask(connection: HttpConnection, namespace: str, question: str) -> list[str]:
    """The documents of the results, best first, each once."""
    body: dict[str, Any] = {"query": question, "include": {"documents": True}}
    answer = await connection.post(f"/ns/{namespace}/search", body)
    return list(dict.fromkeys(result["included"]["document"]["id"] for result in answer["results"]))


async def _find_facts(
    connection: HttpConnection, model: MiniLM, language: str, half: Paraphrases, english: Paraphrases
) -> list[str]:
    own, across, rival = Ranks(), Ranks(), Ranks()
    silent: list[bool] = []
    facts = [fact for fact, _ in half.facts]
    for start in range(0, len(facts), TOGETHER):
        namespace, vectors = f"{language}:{start}", model.vectors(facts[start : start + TOGETHER])
        for at in range(start, min(start + TOGETHER, len(facts))):
            question = half.facts[at][1]
            own.add(await _ask(connection, namespace, question), str(at))
            order = (-(vectors @ model.vectors([question])[0])).argsort(kind="stable") + start
            rival.add([str(place) for place in order], str(at))
            across.add(await _ask(connection, namespace, english.facts[at][1]), str(at))
        silent += [not await _ask(connection, namespace, question) for question in half.foreign]
    others = f"{sum(silent)} of {len(silent)}"
    return [own.cells(), rival.cells().rpartition(" | ")[0], across.cells(), others]


async def _find_among_guide(connection: HttpConnection, language: str, half: Paraphrases | None) -> list[str]:
    if half is None:
        return ["- | - | -"]
    among = Ranks()
    for at, (_, question) in enumerate(half.facts[:TOGETHER]):
        among.add(await _ask(connection, f"{language}:guide", question), str(at))
    return [among.cells()]


async def _find_updates(connection: HttpConnection, language: str, half: Paraphrases) -> list[str]:
    newer, older = 0, 0
    for at, (_, _, question) in enumerate(half.updates):
        found = await _ask(connection, f"{language}:updates", question)
        newer += found[:1] == [str(at + len(half.updates))]
        older += str(at) in found
    return [f"{newer} of {len(half.updates)}", f"{older} of {len(half.updates)}"]


if __name__ == "__main__":
    main()
