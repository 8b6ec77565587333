"""Text of SVG drawings: titles, descriptions and labels."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml import etree

_SHOWN = ("title", "desc", "text")
_HEAD_BYTES = 4096


def is_svg(data: bytes) -> bool:
    """Return whether the bytes begin as an SVG drawing does."""
    return data.lstrip()[:1] == b"<" and b"<svg" in data[:_HEAD_BYTES]


def read_svg(data: bytes) -> tuple[str, str]:
    """Return the title, and a line for each title, description and label; "" if there are none or it is no XML.

    >>> read_svg(b"<svg><title>Map</title><text>Old <tspan>town</tspan></text></svg>")
    ('Map', 'Map\\nOld town')
    """
    from lxml import etree  # noqa: PLC0415 - loaded with the first drawing, not with the service

    # Entities stay unresolved and no address is opened: a drawing may be hostile.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True)
    try:
        root = etree.fromstring(data, parser)
        if root is None:
            return "", ""
        own = (each for each in _shown(root) if each.getparent() is root and each.tag.endswith("title"))
        return next(map(_text_of, own), ""), "\n".join(filter(None, map(_text_of, _shown(root))))
    # A damaged drawing is read as far as it goes, and may hold what is no character.
    except (etree.XMLSyntaxError, ValueError):
        return "", ""


def _shown(root: "etree._Element") -> "Iterator[etree._Element]":
    elements = (element for element in root.iter() if isinstance(element.tag, str))
    # No QName, which refuses names that recovery lets pass.
    return (element for element in elements if element.tag.rpartition("}")[2] in _SHOWN)


def _text_of(element: "etree._Element") -> str:
    return " ".join("".join(element.itertext()).split())
