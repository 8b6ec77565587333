"""Figures and the Markdown table they end in."""

import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

BEGIN, END = "<!-- bench -->", "<!-- /bench -->"


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A row of the table: what was measured, in which unit, and the target it is held against.

    `more`: a larger figure is the better one.
    """

    key: str
    what: str
    unit: str
    target: float | None = None
    more: bool = False


RESULT_ROWS = (
    ResultRow("add_alone_p50", "add acknowledged, one client, p50", "ms", 15),
    ResultRow("add_alone_p99", "add acknowledged, one client, p99", "ms"),
    ResultRow("adds_32", "adds acknowledged, 32 clients", "/s", 300, more=True),
    ResultRow("adds_32_p50", "add acknowledged, 32 clients, p50", "ms"),
    ResultRow("batch_600", "batch of 600 small documents acknowledged, median", "ms", 1000),
    ResultRow("found_p50", "added → found by its words, idle service, p50", "ms", 400),
    ResultRow("ingest", "ingest of 1 KB documents end to end, without memories", "documents/s", 300, more=True),
    ResultRow("load", "chunks stored with their vectors", "chunks/s", 40, more=True),
    ResultRow("search_first", "first search of a cold namespace, median", "ms"),
    ResultRow("search_p50", "search, p50", "ms", 12),
    ResultRow("search_p99", "search, p99", "ms", 40),
    ResultRow("filtered_p50", "search with a metadata filter, p50", "ms", 12),
    ResultRow("filtered_p99", "search with a metadata filter, p99", "ms", 40),
    ResultRow("searches_8", "searches, 8 clients", "/s", more=True),
    ResultRow("start", "start to /health, warm, median", "s", 6),
    ResultRow("rss", "resident memory with all chunks stored and searched", "MB", 600),
    ResultRow("disk", "data directory", "MB"),
    ResultRow("client", "the measuring client itself, a request that costs nothing, p50", "ms"),
    ResultRow("health", "GET /health, p50", "ms"),
)


README_ROWS = (
    ("add acknowledged, on disk", ("add_alone_p50",), ", not synced"),
    ("added → found by its words", ("found_p50",), ""),
    ("search, p50 / p99, with the embedding of the question", ("search_p50", "search_p99"), ""),
    ("1 KB documents read by the models, end to end", ("ingest",), ""),
    ("start, warm", ("start",), ""),
    ("resident memory", ("rss",), ""),
)
"""Build the README's section: text, figures, and the comparison with plain LanceDB."""


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def milliseconds(seconds: Sequence[float], share: float = 0.5) -> float:
    """A percentile of seconds, in milliseconds; the median where no share is given."""
    return 1000 * (statistics.median(seconds) if share == 0.5 else percentile(seconds, share))


def table(ours: Mapping[str, float], plain: Mapping[str, float], note: str) -> str:
    """The figures as Markdown, beside those of plain LanceDB."""
    head = ["| | recollect | target | plain LanceDB |", "|---|---:|---:|---:|"]
    rows = [_row(line, ours[line.key], plain.get(line.key)) for line in RESULT_ROWS if line.key in ours]
    return "\n".join([note, "", *head, *rows])


def readme_table(ours: Mapping[str, float], plain: Mapping[str, float]) -> str:
    """The few that a reader looks for first, as Markdown."""
    rows = [
        f"| {what} | {_figures(keys, ours)} | {_figures(keys, plain) + note if keys[0] in plain else ''} |"
        for what, keys, note in README_ROWS
    ]
    return "\n".join(["| | recollect | plain LanceDB, in process |", "|---|---:|---:|", *rows])


def _figures(keys: Sequence[str], values: Mapping[str, float]) -> str:
    unit = next(line.unit for line in RESULT_ROWS if line.key == keys[0])
    return f"{' / '.join(_number(values[key]) for key in keys)} {unit}"


def _row(line: ResultRow, value: float, beside: float | None) -> str:
    other = "" if beside is None else f"{_number(beside)} {line.unit}"
    return f"| {line.what} | **{_number(value)} {line.unit}** | {_target_verdict(line, value)} | {other} |"


def _target_verdict(line: ResultRow, value: float) -> str:
    if line.target is None:
        return ""
    met = value >= line.target if line.more else value <= line.target
    return f"{'≥' if line.more else '≤'} {line.target:g}, {'met' if met else 'missed'}"


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def machine_description() -> str:
    """Describe the machine without naming it."""
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {platform.system()}, "
        f"Python {platform.python_version()}; load average at the start {load:.1f}"
    )


def replace_section(path: Path, content: str, begin: str = BEGIN, end: str = END) -> None:
    """Replace what stands between the markers of a page."""
    page = path.read_text()
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    path.write_text(f"{before}{begin}\n\n{content}\n\n{end}{after}")
