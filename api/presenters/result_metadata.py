"""Metadata that results have beside their own: whose words they are, the days that they name, and their page."""

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any

from pipeline.memory.formation.document_voice import is_synced, may_be_users
from pipeline.rows import DocumentRow, MemoryRow
from pipeline.text.page_breaks import page_metadata, page_of_span
from pipeline.text.temporal_expressions import DateRange, resolve_dates

CACHED_TEXTS = 4096
_OF_OTHERS: Mapping[str, str] = {"trust": "others"}
"""Trust of what a file, a page, a mail, a connector's document or a text about things says."""
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_LONGER = re.compile(r"\b(?:(?P<week>week)|weekend) of (?P<day>\d{1,2} \w+ \d{4})\b")


def passage_metadata(document_type: str, metadata: Mapping[str, Any], page: str | None) -> dict[str, Any]:
    """Return the trust of a passage, by the kind and metadata of its document, and its page."""
    return {
        **_trust(may_be_users(document_type, is_synced=is_synced(metadata))),
        **page_metadata(document_type, page),
    }


def memory_metadata(text: str, *, is_own: bool) -> dict[str, Any]:
    """Return the trust of a memory, and `eventDates`: ISO 8601 days, months, years or intervals that it names.

    >>> memory_metadata("Ann moved to Rome in the week of 1 May 2023", is_own=False)
    {'trust': 'others', 'eventDates': ['2023-05-01/2023-05-07']}
    >>> memory_metadata("Ann lives in Rome", is_own=True)
    {}
    """
    dates = _event_dates(text) if _YEAR.search(text) else ()
    return {**_trust(is_own), **({"eventDates": list(dates)} if dates else {})}


def speaker_metadata(row: MemoryRow) -> dict[str, str]:
    """Return who says a memory in the first source that names a speaker; empty if none does."""
    speaker = next((entry.said_by for entry in row.provenance if entry.said_by is not None), None)
    return {} if speaker is None else {"saidBy": speaker}


def memory_page(row: MemoryRow, source: DocumentRow) -> dict[str, str]:
    """Return what names the page or slide of a source that states a memory; empty without pages."""
    for stated in row.provenance:
        if stated.document == source.key and stated.start is not None and stated.end is not None:
            return page_metadata(source.type, page_of_span(source.text or "", source.type, stated.start, stated.end))
    return {}


def _trust(is_own: bool) -> Mapping[str, str]:
    return {} if is_own else _OF_OTHERS


@lru_cache(maxsize=CACHED_TEXTS)
def _event_dates(text: str) -> tuple[str, ...]:
    lengths = {match["day"]: 6 if match["week"] else 1 for match in _LONGER.finditer(text)}
    longer = {
        date_range.first: DateRange(date_range.first, date_range.first + timedelta(days=days))
        for day, days in lengths.items()
        for date_range in resolve_dates(day, None).date_ranges
    }
    found = resolve_dates(text, None).date_ranges
    return tuple(dict.fromkeys(longer.get(each.first, each).iso8601 for each in found))
