"""Conversion of HTML mails and pages to Markdown, bounded in depth and size, without images and scripts."""

from collections.abc import Sequence

from html_to_markdown import ConversionOptions, convert
from lxml import html

_MAX_DEPTH = 250
"""Nesting limit; deeper markup is an attack on the parser rather than a document."""
_MAX_CHARACTERS = 5_000_000


def to_markdown(source: str, *, base_url: str | None = None, exclude_selectors: Sequence[str] = ()) -> str:
    """Convert a page or fragment to Markdown, without elements that match `exclude_selectors`."""
    options = ConversionOptions(
        bullets="-",
        compact_tables=True,
        skip_images=True,
        extract_metadata=False,
        max_depth=_MAX_DEPTH,
        base_url=base_url,
        exclude_selectors=["script", "style", "noscript", "template", "svg", "head", *exclude_selectors],
    )
    converted = convert(source[:_MAX_CHARACTERS], options).content
    return (converted or "").replace("\x00", "").strip()


def flatten_layout_tables(source: str) -> str:
    """Replace tables without header cells by plain blocks: mails use them for layout."""
    if "<table" not in source.lower():
        return source
    document = html.document_fromstring(source[:_MAX_CHARACTERS], parser=html.HTMLParser(huge_tree=False))
    for table in document.xpath("//table[not(.//th)]"):
        table.tag = "div"
    for part in document.xpath("//*[self::td or self::tr or self::tbody][not(ancestor::table)]"):
        part.tag = "div"
    flattened: str = html.tostring(document, encoding="unicode")
    return flattened
