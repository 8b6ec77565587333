"""What a started process does before anybody asks for anything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.polling import poll_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="what a process has loaded is read from /proc")
def test_the_parser_of_memories_is_loaded_before_the_first_text(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "recollect", "serve", "--port", "0", "--data-dir", "data"]
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own program
        try:
            assert process.stdout is not None
            assert "recollect answers at" in process.stdout.readline()
            maps = Path("/proc", str(process.pid), "maps")
            poll_until(maps.read_text, lambda loaded: "/spacy/" in loaded, "loading")
        finally:
            process.terminate()
