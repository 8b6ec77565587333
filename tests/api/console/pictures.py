"""`make pictures`: the screenshots of docs/guides/console.md, made anew."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.records import Entry
from tests.api.console.visitor import Visitor, visiting

FOLDER = Path(__file__).parents[3] / "docs" / "images"
SIZE = (1120, 760)
CONVERSATION = {
    "2026-03-02": "My name is Alice Moreira. I live in Lisbon and I work as a marine biologist.",
    "2026-04-11": "I have a sister called Inês. My favourite food is grilled sardines. I play the cello.",
    "2026-06-20": "I moved to Porto last week. I now live in Porto, close to the river.",
    "2026-09-05": "I now live in Bergen. I work for the aquarium in Bergen. I am learning Norwegian.",
}
NOTES = {
    "kelp": "# Kelp survey\n\nThe kelp beds north of the harbour grew by a fifth since spring. Divers counted"
    " forty urchins per square metre at the outer reef, fewer. The next count is due in October.",
    "budget": "# Budget\n\nThe boat costs 1,200 euros a day. Two days in October are paid for.",
}


async def _filled(visitor: Visitor) -> None:
    for day, text in CONVERSATION.items():
        body = {"content": text, "date": day, "dreaming": "instant", "metadata": {"kind": "chat"}}
        await visitor.ok("POST", "/ns/alice/document", body)
        await visitor.world.settled()
    for name, text in NOTES.items():
        body = {"content": text, "id": name, "dreaming": "instant", "metadata": {"kind": "note"}}
        await visitor.ok("POST", "/ns/alice/document", body)
    await visitor.world.settled()


async def _shown(visitor: Visitor, name: str) -> None:
    (FOLDER / f"console-{name}.png").write_bytes(await visitor.browser.picture())


async def _pictures(visitor: Visitor) -> None:
    await _filled(visitor)
    await visitor.browser.resize(*SIZE)
    await visitor.sign_in()
    await visitor.go("#/ns/alice/search?q=Where does Alice live?")
    await visitor.sees("results in")
    await _shown(visitor, "search")
    await visitor.go("#/ns/alice/documents")
    await _shown(visitor, "documents")
    await visitor.go("#/ns/alice/memories")
    await visitor.browser.prefer("dark")
    await visitor.press("User now lives in Bergen")
    await visitor.sees("Earlier versions")
    await visitor.click("a.node")
    await visitor.loaded()
    await visitor.sees("version 2")
    await _shown(visitor, "memory")
    await visitor.browser.prefer("light")
    await visitor.ok("POST", "/admin/keys", {"name": "dashboard", "role": "read", "expiresInDays": 90})
    limits = {"rateLimit": 600, "monthlyDocuments": 20_000, "monthlySearches": 100_000}
    made = await visitor.ok("POST", "/admin/keys", {"name": "web app", "namespaces": ["team-a:*"], **limits})
    await visitor.ok("POST", f"/admin/keys/{made['id']}/rotate", {"overlapHours": 48})
    await visitor.go("#/keys")
    await _shown(visitor, "keys")
    visitor.shelf.put("tides", "High water is at noon.", title="Tides of October")
    visitor.shelf.put("crew", "Who sails when.", title="Crew list")
    visitor.shelf.broken.add("crew")
    connector = await visitor.world.create("alice", "github")
    await visitor.world.ended(connector)
    await visitor.go(f"#/ns/alice/connectors/{connector}")
    await _shown(visitor, "connector")
    entry = Entry(key=b"note", value=b'{"content": 7}', headers={})
    await visitor.world.live.pipeline.bus.append("documents.submitted.v1", [entry])
    await visitor.go("#/pipeline")
    await visitor.sees("1 record could not be handled")
    await _shown(visitor, "pipeline")


async def _main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with visiting(Path(folder)) as visitor:
            await _pictures(visitor)


if __name__ == "__main__":
    asyncio.run(_main())
