"""Dates of a web page, as its structured data (schema.org in JSON-LD) writes them."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from schemas.base import parse_iso_time

_NAMES = ("datePublished", "dateModified")


def structured_dates(scripts: Iterable[str]) -> tuple[str | None, str | None]:
    """Return when a page was published and last changed; dates of the whole site and of comments are none of them.

    >>> structured_dates(['{"@graph": [{"@type": "WebSite"}, {"@type": "Article", "datePublished": "2026-03-01"}]}'])
    ('2026-03-01', None)
    """
    for described in _described(scripts):
        dates = [described.get(name) for name in _NAMES]
        published, updated = (date if isinstance(date, str) and parse_iso_time(date) else None for date in dates)
        if (published or updated) and "WebSite" not in str(described.get("@type")):
            return published, updated
    return None, None


def _described(scripts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield what the scripts describe, not what belongs to it, such as a comment."""
    for script in scripts:
        try:
            found = json.loads(script)
        except (ValueError, RecursionError):
            continue
        for listed in found if isinstance(found, list) else [found]:
            graph = listed.get("@graph") if isinstance(listed, dict) else None
            for entry in graph if isinstance(graph, list) else [listed]:
                if isinstance(entry, dict):
                    yield entry
