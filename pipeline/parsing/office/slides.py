"""Order of slides, speaker's notes, and slides of OpenDocument, whose shapes the parser of slides leaves out."""

import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from io import BytesIO

from lxml import etree

from pipeline.parsing.office.package_parts import DAMAGED, parse_part

_SLIDE = re.compile(r"^ppt/slides/slide(\d+)\.xml$")
_PARAGRAPHS = (
    "//*[local-name()='sp'][.//*[local-name()='ph'][@type='body' or not(@type)]]"
    "//*[local-name()='txBody']/*[local-name()='p']"
)
_TEXTS = ".//*[local-name()='t']/text()"
_NOTES = "//*[local-name()='Relationship'][contains(@Type, '/notesSlide')]/@Target"
_SLIDE_IDS = "//*[local-name()='sldId']/@*[local-name()='id' and namespace-uri()!='']"
_RELATIONS = "//*[local-name()='Relationship'][contains(@Type, '/slide')]"
_OPEN_PAGES = "//*[local-name()='presentation']/*[local-name()='page']"
_OPEN_NOTES = "./*[local-name()='notes']"
_OPEN_BLANKS = ("{*}s", "{*}tab", "{*}line-break")
_CLASS = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}class"


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
    except DAMAGED:
        return list(slides)


def read_open_slides(data: bytes) -> list[str]:
    """Return the slides of an OpenDocument presentation, each with its notes; none if they can't be read."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            content = parse_part(archive, "content.xml")
    except DAMAGED:
        return []
    if content is None:
        return []
    for blank in content.iter(*_OPEN_BLANKS):
        blank.text = " "
    return [_open_slide(page, number) for number, page in enumerate(content.xpath(_OPEN_PAGES), 1)]


def _open_slide(page: "etree._Element", number: int) -> str:
    notes = "\n".join(line for part in page.xpath(_OPEN_NOTES) for line in _open_lines(part))
    text = ""
    for line in _open_lines(page):
        is_continued = line.lstrip()[:1] in {"-", "|"} and text.rpartition("\n")[2].lstrip()[:1] == line.lstrip()[:1]
        text += ("\n" if is_continued else "\n\n") + line
    return "\n\n".join(filter(None, [text.strip(), notes and f"Notes of slide {number}: {notes}"]))


def _open_lines(element: "etree._Element", depth: int = 0) -> Iterator[str]:
    """Yield the paragraphs, items and rows of whatever stands on a slide: frames, shapes, groups and tables."""
    for child in element.iterchildren("{*}*"):
        name = child.tag.rpartition("}")[2]
        if name in {"notes", "annotation"}:
            continue
        if name == "table-row":
            yield f"| {' | '.join(' '.join(_open_lines(cell)) for cell in child.iterchildren('{*}table-cell'))} |"
        elif name in {"p", "h"}:
            if text := " ".join("".join(child.itertext()).split()):
                yield f"{'  ' * (depth - 1)}- {text}" if depth else text
        elif child.get(_CLASS) == "title":
            yield from (f"## {title}" for title in [" ".join(_open_lines(child))] if title)
        else:
            yield from _open_lines(child, depth + (name == "list"))


def _number(file: str) -> int:
    found = _SLIDE.match(file)
    return int(found[1]) if found else 0


def _presented(archive: zipfile.ZipFile) -> list[str]:
    """Return the files of the slides in the order of the presentation."""
    presentation = parse_part(archive, "ppt/presentation.xml")
    links = parse_part(archive, "ppt/_rels/presentation.xml.rels")
    if presentation is None or links is None:
        return []
    targets = {link.get("Id"): _path("ppt", link.get("Target", "")) for link in links.xpath(_RELATIONS)}
    return [targets[id_] for id_ in presentation.xpath(_SLIDE_IDS) if id_ in targets]


def _with_notes(archive: zipfile.ZipFile, file: str, number: int, text: str) -> str:
    links = parse_part(archive, f"ppt/slides/_rels/{posixpath.basename(file)}.rels")
    notes = [_notes(archive, _path("ppt/slides", target)) for target in ([] if links is None else links.xpath(_NOTES))]
    return "\n\n".join(filter(None, [text.strip(), *(f"Notes of slide {number}: {note}" for note in notes if note)]))


def _notes(archive: zipfile.ZipFile, file: str) -> str:
    page = parse_part(archive, file)
    paragraphs = [] if page is None else page.xpath(_PARAGRAPHS)
    return "\n".join(filter(None, ("".join(paragraph.xpath(_TEXTS)).strip() for paragraph in paragraphs)))


def _path(folder: str, target: str) -> str:
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
