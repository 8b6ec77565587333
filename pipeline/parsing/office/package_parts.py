"""Parts of an Office file: the XML documents in its ZIP archive."""

import zipfile
import zlib
from typing import Final

from lxml import etree

DAMAGED: Final = (
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
)
"""Errors of a damaged archive, or of one with a password."""
_MAX_PART_BYTES = 4 * 1024 * 1024


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
