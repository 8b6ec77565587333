"""Text of SVG drawings: titles, descriptions and labels."""

_SHOWN = ("title", "desc", "text")
_HEAD_BYTES = 4096


def is_svg(data: bytes) -> bool:
    """Return whether the bytes begin as an SVG drawing does."""
    return data.lstrip()[:1] == b"<" and b"<svg" in data[:_HEAD_BYTES]


def svg_text(data: bytes) -> str:
    """Return a line for each title, description and label; "" if there are none or it is no XML.

    >>> svg_text(b"<svg><title>Map</title><text>Old <tspan>town</tspan></text></svg>")
    'Map\\nOld town'
    """
    from lxml import etree  # noqa: PLC0415 - loaded with the first drawing, not with the service

    # Entities stay unresolved and no address is opened: a drawing may be hostile.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        return ""
    if root is None:
        return ""
    elements = (element for element in root.iter() if isinstance(element.tag, str))
    shown = (element for element in elements if etree.QName(element).localname in _SHOWN)
    lines = (" ".join("".join(element.itertext()).split()) for element in shown)
    return "\n".join(filter(None, lines))
