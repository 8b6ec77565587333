"""`python -m bench.broad_questions`: questions that name a topic ("user's family", "mes loisirs"), over HTTP.

A server of its own remembers what each person says. Printed for a locked half of the people, or with `--open` for the
other, are how much of what belongs to the topic is among the first ten results, how much of what is shown belongs, and
for how many topics of which nothing was said nothing is shown. `--open` shows what is missing and what does not belong.
"""

import argparse
import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from bench.datasets.broad_questions import Person, Statement, people, specific_questions
from bench.http_connection import HttpConnection
from bench.service_polling import wait_for_zero_lag
from bench.service_process import Server
from pipeline.index.asker_name import asked_about_user
from pipeline.index.ranking.calibration import E5_WITH_ENCODER_NAME, calibration_for
from pipeline.models import open_embedder

_RESULTS = 10


@dataclass(frozen=True, slots=True)
class Shown:
    """The places of statements that a question shows, of those that belong to its topic, and of those that may."""

    shown: frozenset[int]
    own: frozenset[int]
    arguable: frozenset[int]

    @property
    def recall(self) -> float:
        """The share of what belongs that is shown."""
        return len(self.own & self.shown) / min(len(self.own), _RESULTS)


def main() -> None:
    """Print a line for each search mode."""
    options = argparse.ArgumentParser(prog="python -m bench.broad_questions", description=__doc__)
    options.add_argument("--open", action="store_true", help="the open half")
    is_open = options.parse_args().open
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder, Server(Path(folder) / "data") as server:
        asyncio.run(_measure(server, people(locked=not is_open), shows_wrong=is_open))
    asyncio.run(_print_mistaken(specific_questions(locked=not is_open), shows_wrong=is_open))


async def _measure(server: Server, persons: list[Person], *, shows_wrong: bool) -> None:
    connection = HttpConnection(server.url, server.key)
    for number, person in enumerate(persons):
        for at, statement in enumerate(person.statements):  # one by one: each is newer than the one before
            body = {"documents": [{"id": str(at), "content": statement.text}], "dreaming": "instant"}
            await connection.post(f"/ns/person:{number}/document/batch", body)
    await wait_for_zero_lag(connection)
    for mode in ("hybrid", "memories"):
        answers = [
            await _ask(connection, f"person:{number}", asked, person.statements, mode, shows_wrong=shows_wrong)
            for number, person in enumerate(persons)
            for asked in person.questions
        ]
        _print_figures(mode, answers)
    await connection.close()


async def _ask(
    connection: HttpConnection,
    namespace: str,
    asked: tuple[str, str],
    statements: list[Statement],
    mode: str,
    *,
    shows_wrong: bool,
) -> Shown:
    question, topic = asked
    body = {"query": question, "searchMode": mode, "limit": _RESULTS, "include": {"documents": True}}
    found = await connection.post(f"/ns/{namespace}/search", body)
    said = list(enumerate(statements))
    answer = Shown(
        frozenset(int(result["included"]["document"]["id"]) for result in found["results"]),
        frozenset(at for at, statement in said if topic in statement.topics),
        frozenset(at for at, statement in said if topic in statement.arguable),
    )
    if shows_wrong:
        missing, foreign = answer.own - answer.shown, answer.shown - answer.own - answer.arguable
        for sign, places in (("-", missing), ("+", foreign)):
            for at in sorted(places):
                print(f"{mode}: {question} {sign} {statements[at].text}")
    return answer


def _print_figures(mode: str, answers: list[Shown]) -> None:
    known = [answer for answer in answers if answer.own]
    unknown = [answer for answer in answers if not answer.own | answer.arguable]
    shown = sum(len(answer.shown) for answer in known)
    right = sum(len(answer.shown & (answer.own | answer.arguable)) for answer in known)
    print(
        f"| {mode} | {len(known)} | {100 * mean(answer.recall for answer in known):.1f} "
        f"| {100 * mean(answer.recall == 1.0 for answer in known):.1f} | {100 * right / max(shown, 1):.1f} "
        f"| {sum(not answer.shown for answer in unknown)} of {len(unknown)} |"
    )


async def _print_mistaken(questions: list[str], *, shows_wrong: bool) -> None:
    """Print how many questions for one thing are taken for a topic."""
    embedder, calibration = open_embedder("e5-encoder"), calibration_for(E5_WITH_ENCODER_NAME)
    mistaken = []
    for question in questions:
        asked = asked_about_user(question, reads_pronouns=True)
        vector = await embedder.embed_query(question if asked is None else asked.text)
        if calibration.asked_topic(vector) is not None:
            mistaken.append(question)
    print(f"taken for a topic: {len(mistaken)} of {len(questions)}{f': {mistaken}' if shows_wrong else ''}")


if __name__ == "__main__":
    main()
