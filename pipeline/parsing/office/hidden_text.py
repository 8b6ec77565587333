"""Text of Word documents that nobody sees: hidden runs and rows, and the old place of what was moved."""

import re
import zipfile
from collections.abc import Mapping
from io import BytesIO
from typing import Final

from lxml import etree

from pipeline.parsing.office.package_parts import DAMAGED, parse_part, with_changed_parts

_TEXT_PART: Final = re.compile(r"^word/(?:document|header\d*|footer\d*|footnotes|endnotes)\.xml$")
_HIDDEN_PARTS: Final = (".//*[local-name()='tr'][*[local-name()='trPr']/*[local-name()='hidden']]", ".//{*}moveFrom")
_OFF: Final = frozenset({"0", "false", "off"})


def without_hidden_text(document: bytes) -> bytes:
    """Remove what Word does not show; the document itself where there is none, or what can't be read."""
    try:
        with zipfile.ZipFile(BytesIO(document)) as archive:
            hiding = _hiding_styles(archive)
            changed = {
                part.filename: etree.tostring(tree)
                for part in archive.infolist()
                if _TEXT_PART.match(part.filename)
                and (tree := parse_part(archive, part.filename)) is not None
                and _removed(tree, hiding)
            }
            return with_changed_parts(archive, changed.get) if changed else document
    except DAMAGED:
        return document


def _removed(tree: "etree._ElementTree", hiding: Mapping[str, bool]) -> bool:
    """Remove hidden runs and parts from a tree; return whether there were some."""
    unseen = [run for run in tree.iter("{*}r") if _is_hidden(run, hiding)]
    unseen += [*tree.xpath(_HIDDEN_PARTS[0]), *tree.findall(_HIDDEN_PARTS[1])]
    for element in unseen:
        element.getparent().remove(element)
    return bool(unseen)


def _is_hidden(run: "etree._Element", hiding: Mapping[str, bool]) -> bool:
    """Return whether a run is hidden: by itself, or by its style and its paragraph's, which cancel each other."""
    properties = run.find("{*}rPr")
    if properties is not None and (own := _vanish(properties)) is not None:
        return own
    paragraph = next(run.iterancestors("{*}p"), None)
    styles = (
        None if properties is None else properties.find("{*}rStyle"),
        None if paragraph is None else paragraph.find("{*}pPr/{*}pStyle"),
    )
    return sum(hiding.get(_value(style), False) for style in styles if style is not None) == 1


def _hiding_styles(archive: zipfile.ZipFile) -> dict[str, bool]:
    """Return whether text of a style is hidden, by the style's id, also through what it is based on."""
    tree = parse_part(archive, "word/styles.xml")
    listed = {} if tree is None else {style.get(_attribute(style, "styleId")): style for style in tree.iter("{*}style")}
    found: dict[str, bool] = {}
    for name, style in listed.items():
        chain = [style]
        while (own := _vanish(chain[-1].find("{*}rPr"))) is None:
            base = chain[-1].find("{*}basedOn")
            parent = None if base is None else listed.get(_value(base))
            if parent is None or parent in chain:
                break
            chain.append(parent)
        found[name] = bool(own)
    return found


def _vanish(properties: "etree._Element | None") -> bool | None:
    """Return whether properties of text hide it; None if they do not say."""
    vanish = None if properties is None else properties.find("{*}vanish")
    return None if vanish is None else _value(vanish) not in _OFF


def _value(element: "etree._Element") -> str:
    return str(element.get(_attribute(element, "val"), ""))


def _attribute(element: "etree._Element", name: str) -> str:
    return f"{{{etree.QName(element).namespace}}}{name}"
