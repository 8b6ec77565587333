"""HTML to Markdown, for mails and pages: bounded in depth and size, without pictures and scripts."""

from collections.abc import Sequence

from html_to_markdown import ConversionOptions, convert
from lxml import html

_DEPTH = 250
"""Deeper nesting is no document any more, but an attack on whoever parses it."""
_CHARACTERS = 5_000_000


def to_markdown(source: str, *, base: str | None = None, without: Sequence[str] = ()) -> str:
    """Markdown of a page or a part of one. `without`: CSS selectors of what is left out."""
    options = ConversionOptions(
        bullets="-",
        compact_tables=True,
        skip_images=True,
        extract_metadata=False,
        max_depth=_DEPTH,
        base_url=base,
        exclude_selectors=["script", "style", "noscript", "template", "svg", "head", *without],
    )
    converted = convert(source[:_CHARACTERS], options).content
    return (converted or "").replace("\x00", "").strip()


def without_layout(source: str) -> str:
    """Markup whose tables hold no heads made into plain blocks: in mails they are there for the looks."""
    if "<table" not in source.lower():
        return source
    document = html.document_fromstring(source[:_CHARACTERS], parser=html.HTMLParser(huge_tree=False))
    for table in document.xpath("//table[not(.//th)]"):
        table.tag = "div"
    for part in document.xpath("//*[self::td or self::tr or self::tbody][not(ancestor::table)]"):
        part.tag = "div"
    told: str = html.tostring(document, encoding="unicode")
    return told
