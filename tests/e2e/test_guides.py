"""The guides do what they say: each one's commands are run in order, on a service of their own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.server import Server, unconfigured
from pipeline.settings import Settings
from tests.e2e import guides
from tests.e2e.conftest import QUIET
from tests.patience import PATIENCE

PAGES = [guides.ROOT / "README.md", *sorted((guides.ROOT / "docs" / "guides").glob("*.md"))]
RUN = [page for page in PAGES if any(block.runs for block in guides.blocks(page))]
ADDRESS, SECRET = "http://127.0.0.1:8787", "rk_…"
"""What stands in the guides for the address and the key of the service at hand."""


APPS = {
    f"RECOLLECT_{provider}_CLIENT_{part}": "none-of-these-is-asked"
    for provider in ("GITHUB", "GOOGLE", "MICROSOFT", "NOTION")
    for part in ("ID", "SECRET")
}
"""Apps that the operator has set up, so that connectors can be offered."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service that the guides may do to what they like."""
    with Server(tmp_path_factory.mktemp("guides") / "data", QUIET | APPS) as server:
        yield server


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_a_guide_does_what_it_says(page: Path, service: Server, program: Path, tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(program.parent)
    (tmp_path / ".curlrc").write_text("fail-with-body\nsilent\nshow-error\n")
    own = unconfigured()
    path = os.pathsep.join([str(program.parent), str(Path(sys.executable).parent), own["PATH"]])
    known = {
        "RECOLLECT_URL": service.url,
        "RECOLLECT_API_KEY": service.key,
        "SUPERMEMORY_BASE_URL": service.url,
        "SUPERMEMORY_API_KEY": service.key,
        "COLUMNS": "160",
        "CURL_HOME": str(tmp_path),
    }
    blocks = guides.blocks(page)
    script = guides.script(blocks).replace(ADDRESS, service.url).replace(SECRET, service.key)
    done = subprocess.run(  # noqa: S603 - the guides of this checkout
        ["bash", "-c", script],  # noqa: S607 - bash as it is installed
        env=own | known | {"PATH": path},
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    printed = guides.printed(done.stdout.replace(service.url, ADDRESS))
    last = blocks[max(printed)].line
    assert done.returncode == 0, f"{page.name}, the block in line {last}:\n{done.stdout}\n{done.stderr}"
    for at, block in enumerate(blocks):
        if block.is_output:
            got = printed[at - 1]
            assert guides.shows(block.text, got), f"{page.name}, line {block.line}, printed was:\n{got}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_not_run_says_why_and_every_output_follows_what_printed_it(page: Path) -> None:
    found = guides.blocks(page)
    for before, block in zip([None, *found], found, strict=False):
        noted = block.note in {"", guides.OUTPUT} or len(block.note.removeprefix(guides.SKIP)) > 8
        assert noted, f"line {block.line}: {block.note!r}"
        if block.is_output:
            assert before is not None, f"line {block.line}: nothing printed this"
            assert before.runs, f"line {block.line}: what should print this is not run"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_json_of_a_guide_is_json_and_its_settings_are_settings(page: Path) -> None:
    known = {f"RECOLLECT_{name.upper()}" for name in Settings.model_fields}
    known |= {"RECOLLECT_URL", "RECOLLECT_API_KEY", "RECOLLECT_NAMESPACE"}
    for block in guides.blocks(page):
        if block.language == "json":
            json.loads(block.text)
        if block.language == "dotenv":
            assert set(re.findall(r"^(\w+)=", block.text, re.MULTILINE)) <= known


@settings(max_examples=30)
@given(st.lists(st.text("ab", max_size=5), min_size=1, max_size=4), st.text("ab\n", max_size=5))
def test_an_output_may_leave_out_anything_and_only_where_it_says_so(parts: list[str], between: str) -> None:
    assert guides.shows(guides.ANYTHING.join(parts), between.join(parts))
    assert not guides.shows("a".join(parts), "b".join(["x", *parts]))
