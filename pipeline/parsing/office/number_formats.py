"""Numbers of Excel sheets as their cells show them, where the stored number reads otherwise.

A cell that shows 35% holds 0.35, and one that shows the article number 00815 holds 815; the parser of sheets returns
what they hold.
"""

import re
import zipfile
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from io import BytesIO

from lxml import etree

from pipeline.parsing.office.package_parts import DAMAGED, parse_part, with_changed_parts

_BUILT_IN = {9: "0%", 10: "0.00%"}
"""Codes of the numbered formats that matter here (ECMA-376, 18.8.30)."""
_SHEET = re.compile(r"^xl/worksheets/[^/]+\.xml$")
_MAX_DIGITS = 20
_CELL = re.compile(rb"<c\b([^>]*)>(?:<f\b[^>]*/>|<f\b[^>]*>[^<]*</f>)?<v>([^<]{1,40})</v></c>")
_STYLE = re.compile(rb'\bs="(\d+)"')
_TYPE = re.compile(rb'\bt="(\w+)"')
_DECORATION = re.compile(r'\\(.)|"([^"]*)"|\[[^\]]*\]|[_*].')
"""An escaped character, a quoted text, a colour or locale, and blanks that only fill the cell."""
_PADDED = re.compile(r"0[0 -]*0")


def show_formatted_numbers(workbook: bytes) -> bytes:
    """Store percentages and padded numbers as the texts that a reader sees; the workbook itself where there are none.

    What can't be read stays as it is.
    """
    try:
        with zipfile.ZipFile(BytesIO(workbook)) as archive:
            codes = _codes_by_style(archive)
            if not codes:
                return workbook
            return with_changed_parts(archive, lambda name: _with_shown_numbers(archive, name, codes))
    except DAMAGED:
        return workbook


def shown_number(number: str, code: str) -> str | None:
    """Return a number as a format shows it: a percentage or one with leading zeros; None for other formats.

    >>> shown_number("0.35", "0%"), shown_number("0.1275", '0.00" %"'), shown_number("815", "00000")
    ('35%', '12.75 %', '00815')
    >>> shown_number("1234567", "000-00-0000"), shown_number("12.5", "#,##0.00"), shown_number("-3", "000")
    ('001-23-4567', None, None)
    """
    shape = _DECORATION.sub(lambda found: found[1] or found[2] or "", code.partition(";")[0])
    try:
        value = Decimal(number)
    except InvalidOperation:
        return None
    if not value.is_finite() or abs(value.adjusted()) > _MAX_DIGITS:
        return None
    before, percent, after = shape.partition("%")
    if percent:
        decimals = sum(char in "0#?" for char in before.partition(".")[2])
        return f"{value * 100:.{decimals}f}{' ' * before.endswith(' ')}%{after}".rstrip()
    if not _PADDED.fullmatch(shape) or value != value.to_integral_value() or value < 0:
        return None
    digits = str(int(value)).zfill(shape.count("0"))
    extra = len(digits) - shape.count("0")
    rest = iter(digits[extra:])
    return digits[:extra] + "".join(next(rest) if char == "0" else char for char in shape)


def _codes_by_style(archive: zipfile.ZipFile) -> dict[int, str]:
    """Return the codes of the styles whose numbers read otherwise, by the place of the style."""
    styles = parse_part(archive, "xl/styles.xml")
    if styles is None:
        return {}
    codes = _BUILT_IN | {
        int(item.get("numFmtId", "-1")): item.get("formatCode", "") for item in styles.iter("{*}numFmt")
    }
    used = [int(style.get("numFmtId", "0")) for style in styles.xpath("//*[local-name()='cellXfs']/*")]
    return {
        place: codes[number]
        for place, number in enumerate(used)
        if number in codes and shown_number("1", codes[number]) is not None
    }


def _with_shown_numbers(archive: zipfile.ZipFile, name: str, codes: Mapping[int, str]) -> bytes | None:
    if not _SHEET.match(name):
        return None
    return _CELL.sub(lambda cell: _shown_cell(cell, codes), archive.read(name))


def _shown_cell(cell: re.Match[bytes], codes: Mapping[int, str]) -> bytes:
    attributes, number = cell[1], cell[2].decode(errors="replace")
    style, kind = _STYLE.search(attributes), _TYPE.search(attributes)
    code = None if style is None else codes.get(int(style[1]))
    text = None if code is None or (kind and kind[1] != b"n") else shown_number(number, code)
    if text is None:
        return cell[0]
    element = etree.Element("t")
    element.text = text
    return b'<c%s t="inlineStr"><is>%s</is></c>' % (_TYPE.sub(b"", attributes), etree.tostring(element))
