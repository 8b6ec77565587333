"""Order of slides and speaker's notes of a presentation, which the parser of slides leaves out."""

import posixpath
import re
import zipfile
import zlib
from collections.abc import Sequence
from io import BytesIO

from lxml import etree

_SLIDE = re.compile(r"^ppt/slides/slide(\d+)\.xml$")
_PARAGRAPHS = (
    "//*[local-name()='sp'][.//*[local-name()='ph'][@type='body' or not(@type)]]"
    "//*[local-name()='txBody']/*[local-name()='p']"
)
_TEXTS = ".//*[local-name()='t']/text()"
_NOTES = "//*[local-name()='Relationship'][contains(@Type, '/notesSlide')]/@Target"
_SLIDE_IDS = "//*[local-name()='sldId']/@*[local-name()='id' and namespace-uri()!='']"
_RELATIONS = "//*[local-name()='Relationship'][contains(@Type, '/slide')]"
_MAX_PART_BYTES = 4 * 1024 * 1024


def arrange_slides(data: bytes, slides: Sequence[str]) -> list[str]:
    """Put slides in the order in which they are shown, each with its notes; `slides`: in the order of their files.

    What can't be read leaves the order as it is, or a slide without notes.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            files = sorted(filter(_SLIDE.match, archive.namelist()), key=_number)
            if len(files) != len(slides):
                return list(slides)
            texts = dict(zip(files, slides, strict=True))
            shown = [file for file in _presented(archive) if file in texts]
            order = list(dict.fromkeys([*shown, *files]))
            return [_with_notes(archive, file, number, texts[file]) for number, file in enumerate(order, 1)]
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, NotImplementedError, RuntimeError, EOFError, OSError):
        return list(slides)


def _number(file: str) -> int:
    found = _SLIDE.match(file)
    return int(found[1]) if found else 0


def _presented(archive: zipfile.ZipFile) -> list[str]:
    """Return the files of the slides in the order of the presentation."""
    presentation = _parse(archive, "ppt/presentation.xml")
    links = _parse(archive, "ppt/_rels/presentation.xml.rels")
    if presentation is None or links is None:
        return []
    targets = {link.get("Id"): _path("ppt", link.get("Target", "")) for link in links.xpath(_RELATIONS)}
    return [targets[id_] for id_ in presentation.xpath(_SLIDE_IDS) if id_ in targets]


def _with_notes(archive: zipfile.ZipFile, file: str, number: int, text: str) -> str:
    links = _parse(archive, f"ppt/slides/_rels/{posixpath.basename(file)}.rels")
    notes = [_notes(archive, _path("ppt/slides", target)) for target in ([] if links is None else links.xpath(_NOTES))]
    return "\n\n".join(filter(None, [text.strip(), *(f"Notes of slide {number}: {note}" for note in notes if note)]))


def _notes(archive: zipfile.ZipFile, file: str) -> str:
    page = _parse(archive, file)
    paragraphs = [] if page is None else page.xpath(_PARAGRAPHS)
    return "\n".join(filter(None, ("".join(paragraph.xpath(_TEXTS)).strip() for paragraph in paragraphs)))


def _path(folder: str, target: str) -> str:
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")


def _parse(archive: zipfile.ZipFile, name: str) -> "etree._ElementTree | None":
    """Parse a part; None if there is none, or it is damaged or too large."""
    if name not in archive.namelist():
        return None
    with archive.open(name) as member:
        data = member.read(_MAX_PART_BYTES + 1)
    if len(data) > _MAX_PART_BYTES:
        return None
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(data, parser).getroottree()
    except (etree.XMLSyntaxError, ValueError):
        return None
