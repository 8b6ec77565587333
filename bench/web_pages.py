"""Share of a web page's main text that is kept, and of the boilerplate around it.

    python -m bench.web_pages --data DIR

`DIR/recordings/web` holds pages and, per address, sentences of the main text and of the boilerplate around it.
Half of the sites, chosen by the hash of their host name, was never looked at while the extraction was written.
"""

import argparse
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any
from urllib.parse import urlsplit

import trafilatura

from bench.recall import DATA
from connectors.providers.web_crawler.content import parse_page
from pipeline.parsing.charset_detection import decode

_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^)\s]*(?: \"[^\"]*\")?\)")
_ESCAPE = re.compile(r"\\([^a-zA-Z0-9\s])")
_MARKUP = re.compile(r"[*_`#>|]+|\s+")


@dataclass(frozen=True)
class PageResult:
    """Sentences of a page that an extraction kept, of those expected."""

    locked: bool
    wanted: int
    wanted_kept: int
    boilerplate: int
    boilerplate_kept: int
    seconds: float


def main() -> None:
    """Print a table of all extractions for both halves."""
    options = argparse.ArgumentParser(prog="python -m bench.web_pages", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    folder = options.parse_args().data / "recordings" / "web"
    if not folder.is_dir():
        print(f"No {folder}: web pages are skipped.")
        return
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    print("| | pages | wanted sentences kept | boilerplate sentences kept | CPU per page |\n|---|---:|---:|---:|---:|")
    with ProcessPoolExecutor() as pool:
        for name, extract in (("recollect", _crawler_text), ("trafilatura alone", _trafilatura_text)):
            results = list(pool.map(partial(_measure, folder, extract), expected.items(), chunksize=8))
            for half, chosen in (
                ("all", results),
                ("looked at", [each for each in results if not each.locked]),
                ("locked", [each for each in results if each.locked]),
            ):
                print(f"| {name}, {half} | {_row(chosen)} |")


def _row(results: list[PageResult]) -> str:
    wanted = sum(each.wanted_kept for each in results) / sum(each.wanted for each in results)
    boilerplate = sum(each.boilerplate_kept for each in results) / sum(each.boilerplate for each in results)
    seconds = sum(each.seconds for each in results) / len(results)
    return f"{len(results)} | {wanted:.1%} | {boilerplate:.1%} | {seconds * 1000:.0f} ms"


def _measure(folder: Path, extract: Callable[[str, str], str], page: tuple[str, Mapping[str, Any]]) -> PageResult:
    address, expected = page
    source = decode((folder / "pages" / expected["file"]).read_bytes(), "text/html")
    begun = process_time()
    text = _normalized(extract(source, address))
    seconds = process_time() - begun
    wanted, boilerplate = [[_normalized(each) in text for each in expected[name]] for name in ("with", "without")]
    return PageResult(_is_locked(address), len(wanted), sum(wanted), len(boilerplate), sum(boilerplate), seconds)


def _is_locked(address: str) -> bool:
    host = urlsplit(address).hostname or address.split("/", maxsplit=1)[0]
    return hashlib.sha256(host.removeprefix("www.").encode()).digest()[0] % 2 == 1


def _normalized(text: str) -> str:
    """Strip Markdown and white space, so that sentences are compared by their words."""
    return _MARKUP.sub("", _ESCAPE.sub(r"\1", _LINK.sub(r"\1", text)))


def _crawler_text(source: str, address: str) -> str:
    return parse_page(source, address).text


def _trafilatura_text(source: str, address: str) -> str:
    found = trafilatura.extract(
        source, url=address, output_format="markdown", include_links=True, include_comments=False
    )
    return found or ""


if __name__ == "__main__":
    main()
