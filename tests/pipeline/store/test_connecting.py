import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.store.connecting import NICENESS

PROGRAM = """
import asyncio, json, os, sys
from pathlib import Path
from pipeline.store import open_store

async def use(folder):
    store = await open_store(folder, dimensions=4, shards=1)
    await store.documents.durable()
    await store.close()

asyncio.run(use(sys.argv[1]))
tasks = [int(one.name) for one in Path("/proc/self/task").iterdir()]
names = {one: Path(f"/proc/self/task/{one}/comm").read_text() for one in tasks}
of_lance = [one for one in tasks if names[one].startswith("lance")]
nice = {one: os.getpriority(os.PRIO_PROCESS, one) for one in tasks}
print(json.dumps([sorted({nice[one] for one in of_lance}), nice[os.getpid()]]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads have no niceness of their own")
def test_threads_of_lancedb_give_way_and_that_of_requests_does_not(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "tables")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own program
    of_lance, of_main = json.loads(done.stdout)
    assert len(of_lance) == 1
    assert of_lance[0] == min(19, of_main + NICENESS)
