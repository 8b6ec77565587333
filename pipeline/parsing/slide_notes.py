"""Speaker's notes of a presentation, which the parser of slides leaves out."""

import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO

from lxml import etree

_SLIDE = re.compile(r"^ppt/slides/_rels/slide(\d+)\.xml\.rels$")
_PARAGRAPHS = (
    "//*[local-name()='sp'][.//*[local-name()='ph'][@type='body' or not(@type)]]"
    "//*[local-name()='txBody']/*[local-name()='p']"
)
_TEXTS = ".//*[local-name()='t']/text()"
_NOTES = "//*[local-name()='Relationship'][contains(@Type, '/notesSlide')]/@Target"
_MAX_PART_BYTES = 4 * 1024 * 1024


def slide_notes(data: bytes) -> dict[int, str]:
    """Return the notes by the number of their slide; none if they can't be read."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return {number: f"Notes of slide {number}: {text}" for number, text in _notes(archive) if text}
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, NotImplementedError, RuntimeError, EOFError, OSError):
        return {}


def _notes(archive: zipfile.ZipFile) -> Iterator[tuple[int, str]]:
    for name in archive.namelist():
        if slide := _SLIDE.match(name):
            links = _parse(archive, name)
            for target in [] if links is None else links.xpath(_NOTES):
                part = posixpath.normpath(posixpath.join("ppt/slides", str(target))).lstrip("/")
                page = _parse(archive, part)
                paragraphs = [] if page is None else page.xpath(_PARAGRAPHS)
                lines = ("".join(paragraph.xpath(_TEXTS)).strip() for paragraph in paragraphs)
                yield int(slide[1]), "\n".join(filter(None, lines))


def _parse(archive: zipfile.ZipFile, name: str) -> "etree._ElementTree | None":
    with archive.open(name) as member:
        data = member.read(_MAX_PART_BYTES + 1)
    if len(data) > _MAX_PART_BYTES:
        return None
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(data, parser).getroottree()
    except (etree.XMLSyntaxError, ValueError):
        return None
