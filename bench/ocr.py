"""`python -m bench.ocr --data FOLDER`: characters that text recognition gets wrong, and pages a second.

The folder has a folder per language with Markdown texts. Pages are printed from them in three fonts at 150 dpi, then
turned, blurred, speckled and packed as JPEG, as from an office scanner. They are read by the service's own parser, in
its worker process, as images or as the pages of one PDF.
"""

import argparse
import asyncio
import io
import random
import re
import resource
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from bench.result_tables import machine_description
from pipeline.parsing.document_parser import FileParser
from pipeline.parsing.parser_pool import ParserPool
from pipeline.text.page_breaks import split_pages
from schemas.events import BlobRef, Upload

LANGUAGES = ("en", "de", "fr")
PAGES_PER_LANGUAGE = 10
PAPER = (1240, 1754)
"""A4 at 150 dpi."""
_FONTS = ("DejaVuSans.ttf", "DejaVuSerif.ttf", "DejaVuSansMono.ttf")
_MARGIN, _LINE, _FONT_SIZE, _ROWS = 110, 38, 25, 38
_MARKUP = re.compile(r"^---.*?^---|\[([^\]]*)\]\([^)]*\)|<[^>]*>|https?://\S+|[*_`#>|]", re.MULTILINE | re.DOTALL)
_SEED = 20_261_124


@dataclass(frozen=True)
class Scan:
    """A scanned page with the text that was printed on it."""

    language: str
    text: str
    jpeg: bytes


def main() -> None:
    """Measure and print a Markdown table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True, help="a folder per language with Markdown texts")
    options.add_argument("--languages", nargs="+", default=LANGUAGES)
    options.add_argument("--pages", type=int, default=PAGES_PER_LANGUAGE, help="for each language")
    options.add_argument("--pdf", action="store_true", help="read them as the pages of one PDF, not as images")
    chosen = options.parse_args()
    scans = [scan for language in chosen.languages for scan in make_scans(chosen.data / language, chosen.pages)]
    print(asyncio.run(_measure(scans, as_pdf=chosen.pdf)))


def make_scans(folder: Path, count: int) -> list[Scan]:
    """Print pages of texts of a language, and scan them."""
    chance = random.Random(f"{_SEED}{folder.name}")
    texts = [plain_text(path.read_text()) for path in sorted(folder.glob("*.md"))]
    pages = [page for text in texts for page in _page_texts(text)]
    return [Scan(folder.name, page, _scan(page, chance)) for page in chance.sample(pages, count)]


def plain_text(markdown: str) -> str:
    """Leave out the marks and addresses of Markdown.

    >>> plain_text("# Say [hello](https://example.org) *twice*")
    'Say hello twice'
    """
    return " ".join(_MARKUP.sub(lambda found: found[1] or " ", markdown).split())


def error_rate(expected: str, found: str) -> float:
    """Return the edits between two texts by the characters expected; runs of white space count as one space.

    >>> error_rate("a kettle", "a  kett1e")
    0.125
    """
    expected, found = " ".join(expected.split()), " ".join(found.split())
    letters = np.frombuffer(found.encode("utf-32-le"), np.uint32)
    steps = np.arange(len(letters) + 1)
    row = steps
    for position, letter in enumerate(expected, 1):
        replaced = row[:-1] + (letters != ord(letter))
        best = np.concatenate([[position], np.minimum(replaced, row[1:] + 1)])
        row = np.minimum.accumulate(best - steps) + steps
    return float(row[-1]) / max(1, len(expected))


def _page_texts(text: str) -> list[str]:
    lines = textwrap.wrap(text, 62)
    return ["\n".join(lines[start : start + _ROWS]) for start in range(0, len(lines) - _ROWS, _ROWS)]


def _scan(text: str, chance: random.Random) -> bytes:
    paper = Image.new("L", PAPER, chance.randint(232, 250))
    font = ImageFont.truetype(chance.choice(_FONTS), _FONT_SIZE)
    for row, line in enumerate(text.splitlines()):
        ImageDraw.Draw(paper).text((_MARGIN, _MARGIN + row * _LINE), line, fill=chance.randint(10, 60), font=font)
    turned = paper.rotate(chance.uniform(-1.5, 1.5), Image.Resampling.BICUBIC, fillcolor=240)
    soft = np.asarray(turned.filter(ImageFilter.GaussianBlur(chance.uniform(0.3, 0.8))), np.float32)
    noise = np.random.default_rng(chance.randrange(1 << 30)).normal(0, chance.uniform(4, 12), soft.shape)
    out = io.BytesIO()
    Image.fromarray(np.clip(soft + noise, 0, 255).astype(np.uint8)).save(out, "JPEG", quality=chance.randint(40, 75))
    return out.getvalue()


async def _measure(scans: Sequence[Scan], *, as_pdf: bool) -> str:
    parser = FileParser(ParserPool(timeout_seconds=600), recognizes_text=True)
    started = time.perf_counter()
    if as_pdf:
        found = split_pages(await _read(parser, _as_pdf(scans), "scans.pdf"))
    else:
        found = [await _read(parser, scan.jpeg, "scan.jpg") for scan in scans]
    seconds = time.perf_counter() - started
    await parser.aclose()
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    speed = f"{len(scans) / seconds:.2f} pages/s by the clock, {cpu / len(scans):.1f} s of CPU a page"
    return "\n".join(
        [f"{machine_description()}; {'a PDF' if as_pdf else 'images'}; {speed}.", "", *_table(scans, found)]
    )


def _table(scans: Sequence[Scan], found: Sequence[str]) -> list[str]:
    rows = ["| Character errors, % | pages | mean | median | worst page |", "|---|---:|---:|---:|---:|"]
    rates = [(scan.language, 100 * error_rate(scan.text, text)) for scan, text in zip(scans, found, strict=True)]
    for name in dict.fromkeys(language for language, _ in rates):
        errors = [rate for language, rate in rates if language == name]
        rows.append(f"| {name} | {len(errors)} | {mean(errors):.1f} | {median(errors):.1f} | {max(errors):.1f} |")
    return rows


def _as_pdf(scans: Sequence[Scan]) -> bytes:
    images = [Image.open(io.BytesIO(scan.jpeg)) for scan in scans]
    out = io.BytesIO()
    images[0].save(out, "PDF", save_all=True, append_images=images[1:], resolution=150)
    return out.getvalue()


async def _read(parser: FileParser, data: bytes, name: str) -> str:
    return (await parser.parse_file(data, Upload(blob=BlobRef(sha256="", size=len(data)), filename=name))).text


if __name__ == "__main__":
    main()
