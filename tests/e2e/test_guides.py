"""The guides do what they say: each one's commands are run in order, on a service of their own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.service_process import Server, unconfigured
from pipeline.settings import Settings
from tests.e2e.conftest import QUIET
from tests.support import guide_blocks
from tests.support.asgi_server import serve_app_in_thread
from tests.support.providers.granola_double import GranolaDouble
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

DOCS = guide_blocks.ROOT / "docs"
PAGES = [guide_blocks.ROOT / "README.md", DOCS / "tutorial.md", *sorted((DOCS / "guides").glob("*.md"))]
RUN = [page for page in PAGES if any(block.is_runnable for block in guide_blocks.parse_blocks(page))]
ADDRESS, SECRET = "http://127.0.0.1:8787", "rk_…"
"""Placeholders in the guides for the address and the key of the service."""


APPS = {
    f"RECOLLECT_{provider}_CLIENT_{part}": "none-of-these-is-asked"
    for provider in ("GITHUB", "GOOGLE", "MICROSOFT", "NOTION")
    for part in ("ID", "SECRET")
}
"""Apps that the operator has set up, so that connectors can be offered."""


async def _empty_bucket(scope: Any, receive: Any, send: Any) -> None:
    """Answer every listing of S3 with no objects."""
    headers = [(b"content-type", b"application/xml")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    body = b"<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>"
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def providers() -> Iterator[Mapping[str, str]]:
    """Addresses of the providers that try a key as soon as they get one."""
    with ExitStack() as held:
        yield {
            name: held.enter_context(serve_app_in_thread(double))
            for name, double in {"granola": GranolaDouble(), "s3": _empty_bucket}.items()
        }


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, providers: Mapping[str, str]) -> Iterator[Server]:
    """A service that the guides may do to what they like."""
    reached = {"RECOLLECT_GRANOLA_URL": providers["granola"], "RECOLLECT_FETCH_PRIVATE_ADDRESSES": "true"}
    with Server(tmp_path_factory.mktemp("guides") / "data", QUIET | APPS | reached) as server:
        yield server


def _with_credentials(script: str, providers: Mapping[str, str]) -> str:
    """Fill in keys in place of the guides' placeholders, and where the bucket is."""
    given = {
        '"apiKey": "grn_…"': '"apiKey": "grn_good"',
        '"access_key_id": "AKIA…"': f'"endpoint": "{providers["s3"]}", "access_key_id": "AKIAGOOD"',
        '"secret_access_key": "…"': '"secret_access_key": "good"',
    }
    for placeholder, value in given.items():
        script = script.replace(placeholder, value)
    return script


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_a_guide_does_what_it_says(
    page: Path, service: Server, providers: Mapping[str, str], program: Path, tmp_path: Path
) -> None:
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(program.parent)
    (tmp_path / ".curlrc").write_text("fail-with-body\nsilent\nshow-error\n")
    own = unconfigured()
    path = os.pathsep.join([str(program.parent), str(Path(sys.executable).parent), own["PATH"]])
    variables = {
        "RECOLLECT_URL": service.url,
        "RECOLLECT_API_KEY": service.key,
        "SUPERMEMORY_BASE_URL": service.url,
        "SUPERMEMORY_API_KEY": service.key,
        "COLUMNS": "160",
        "CURL_HOME": str(tmp_path),
    }
    blocks = guide_blocks.parse_blocks(page)
    script = guide_blocks.to_shell_script(blocks).replace(ADDRESS, service.url).replace(SECRET, service.key)
    script = _with_credentials(script, providers)
    done = subprocess.run(  # noqa: S603 - the guides of this checkout
        ["bash", "-c", script],  # noqa: S607 - bash as it is installed
        env=own | variables | {"PATH": path},
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        timeout=WAIT_TIMEOUT_SECONDS,
    )
    printed = guide_blocks.output_by_block(done.stdout.replace(service.url, ADDRESS))
    last = blocks[max(printed)].line
    assert done.returncode == 0, f"{page.name}, the block in line {last}:\n{done.stdout}\n{done.stderr}"
    for at, block in enumerate(blocks):
        if block.is_output:
            got = printed[at - 1]
            assert guide_blocks.matches_output(block.text, got), f"{page.name}, line {block.line}, printed was:\n{got}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_not_run_says_why_and_every_output_follows_what_printed_it(page: Path) -> None:
    found = guide_blocks.parse_blocks(page)
    for before, block in zip([None, *found], found, strict=False):
        noted = (
            block.note in {"", guide_blocks.OUTPUT_NOTE}
            or block.note.startswith(guide_blocks.FILE_PREFIX)
            or len(block.note.removeprefix(guide_blocks.SKIP_PREFIX)) > 8
        )
        assert noted, f"line {block.line}: {block.note!r}"
        if block.is_output:
            assert before is not None, f"line {block.line}: nothing printed this"
            assert before.is_runnable, f"line {block.line}: what should print this is not run"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_json_of_a_guide_is_json_and_its_settings_are_settings(page: Path) -> None:
    variables = {f"RECOLLECT_{name.upper()}" for name in Settings.model_fields}
    variables |= {"RECOLLECT_URL", "RECOLLECT_API_KEY", "RECOLLECT_NAMESPACE"}
    for block in guide_blocks.parse_blocks(page):
        if block.language == "json":
            json.loads(block.text)
        if block.language == "dotenv":
            assert set(re.findall(r"^(\w+)=", block.text, re.MULTILINE)) <= variables


@settings(max_examples=30)
@given(st.lists(st.text("ab", max_size=5), min_size=1, max_size=4), st.text("ab\n", max_size=5))
def test_an_output_may_leave_out_anything_and_only_where_it_says_so(parts: list[str], between: str) -> None:
    assert guide_blocks.matches_output(guide_blocks.WILDCARD.join(parts), between.join(parts))
    assert not guide_blocks.matches_output("a".join(parts), "b".join(["x", *parts]))
