"""`python -m bench.asked_by_name`: questions about the user by name, as "the user" or as "she", over HTTP.

A server of its own remembers what each person says. Printed are the questions whose first result is right, of all, on
the locked half; `--open` takes the half that the rules were made on, and shows the wrong results.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path

from bench.datasets.asked_by_name import NamedPerson, named_people
from bench.http_connection import HttpConnection
from bench.service_polling import wait_for_zero_lag
from bench.service_process import Server


def main() -> None:
    """Print one line."""
    options = argparse.ArgumentParser(prog="python -m bench.asked_by_name", description=__doc__)
    options.add_argument("--open", action="store_true", help="the open half")
    is_open = options.parse_args().open
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder, Server(Path(folder) / "data") as server:
        asyncio.run(_measure(server, named_people(locked=not is_open), shows_wrong=is_open))


async def _measure(server: Server, people: list[NamedPerson], *, shows_wrong: bool) -> None:
    connection = HttpConnection(server.url, server.key)
    for number, person in enumerate(people):
        for at, statement in enumerate(person.statements):  # one by one: each is newer than the one before
            body = {"documents": [{"id": str(at), "content": statement}], "dreaming": "instant"}
            await connection.post(f"/ns/person:{number}/document/batch", body)
    await wait_for_zero_lag(connection)
    right, asked = 0, 0
    for number, person in enumerate(people):
        for question, answer in person.questions:
            found = await connection.post(f"/ns/person:{number}/search", {"query": question})
            texts = [result.get("memory") or result["chunk"] for result in found["results"]]
            is_right = bool(texts) and answer.casefold() in texts[0].casefold()
            right, asked = right + is_right, asked + 1
            if shows_wrong and not is_right:
                print(f"{question} -> {texts[:3]}")
    print(f"first result right: {right} of {asked}")
    await connection.close()


if __name__ == "__main__":
    main()
