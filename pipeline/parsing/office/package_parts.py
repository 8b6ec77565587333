"""Parts of an Office file: the XML documents in its ZIP archive."""

import zipfile
from collections.abc import Callable
from io import BytesIO
from typing import Final

from lxml import etree

from pipeline.parsing import archive_files

DAMAGED: Final = (*archive_files.DAMAGED, KeyError, RuntimeError)
"""Errors of a damaged archive, or of one with a password."""
_MAX_PART_BYTES = 16 * 1024 * 1024
_MAX_COPIED_BYTES = 96 * 1024 * 1024


def parse_part(archive: zipfile.ZipFile, name: str) -> "etree._ElementTree | None":
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


def with_changed_parts(archive: zipfile.ZipFile, changed: Callable[[str], bytes | None]) -> bytes:
    """Copy a package with its XML documents as `changed` returns them by name; None: as they are.

    Pictures and macros, which nobody reads here, are left out. ValueError for one that unpacks to too much.
    """
    parts = [part for part in archive.infolist() if part.filename.endswith((".xml", ".rels"))]
    if sum(part.file_size for part in parts) > _MAX_COPIED_BYTES:
        raise ValueError("The package is too large to be copied.")
    copied = BytesIO()
    with zipfile.ZipFile(copied, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy:
        for part in parts:
            content = changed(part.filename)
            copy.writestr(part.filename, archive.read(part) if content is None else content)
    return copied.getvalue()
