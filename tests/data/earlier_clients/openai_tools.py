"""Uses the tools for OpenAI's SDK: `openai_tools.py URL KEY`. Prints one JSON object."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from supermemory_openai import SupermemoryTools

url, key = sys.argv[1:]
DEADLINE = time.monotonic() + 60


async def until(ask: Callable[[], Awaitable[Any]], good: Callable[[Any], bool]) -> Any:
    """The first answer that is good, or the last one."""
    answer = await ask()
    while not good(answer) and time.monotonic() < DEADLINE:
        await asyncio.sleep(0.1)
        answer = await ask()
    return answer


async def main() -> dict[str, Any]:
    """Use each of the seven tools, with a wrong id and two containers besides."""
    tools = SupermemoryTools(key, {"base_url": url, "container_tags": ["openai-tools"]})
    added = await tools.add_memory("Nora plays the oboe in Turin.")
    document = (await tools.document_add(content="The archive opens at nine.", title="Archive"))["document"]
    found = await until(lambda: tools.search_memories("Who plays the oboe?"), lambda answer: bool(answer["results"]))
    profile = await until(tools.get_profile, lambda answer: bool(answer["profile"]["static"]))
    listed = await tools.document_list()
    forgotten = await tools.memory_forget(memory_content="Nora plays the oboe in Turin")
    deleted = await tools.document_delete(document["id"])
    unknown = await tools.document_delete("nosuch")
    two = SupermemoryTools(key, {"base_url": url, "container_tags": ["first", "second"]})
    return {
        "found": "oboe" in str(found["results"][0]),
        "profile": profile["profile"]["static"],
        "listed": len(listed["documents"]),
        "done": [answer["success"] for answer in (added, forgotten, deleted)],
        "unknown": "404" in unknown["error"],
        "two_containers": "501" in (await two.add_memory("x"))["error"],
    }


sys.stdout.write(json.dumps(asyncio.run(main())))
