"""`python -m tools.rooms_picture`: draw docs/images/rooms.svg from the import contracts of pyproject.toml."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "rooms.svg"
_WIDTH, _MARGIN, _GAP, _NAME = 860, 10, 8, 100
_ROOM, _ROW, _PADDING = 26, 32, 10
_SCHEMAS = ["events", "topics", "ids", "filters", "http", "limits"]
_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="title" \
font-family="system-ui, sans-serif" font-size="11">
  <title id="title">Layers from top to bottom: app; api and connectors; pipeline; schemas. Imports point down.</title>
  <style>
    .layer {{ fill: #f6f8fa; stroke: #8c959f; }}
    .room {{ fill: #ffffff; stroke: #57606a; }}
    text {{ fill: #1f2328; text-anchor: middle; }}
    .name {{ font-weight: 600; text-anchor: start; font-size: 13px; }}
    @media (prefers-color-scheme: dark) {{
      .layer {{ fill: #161b22; stroke: #6e7681; }}
      .room {{ fill: #0d1117; stroke: #8b949e; }}
      text {{ fill: #e6edf3; }}
    }}
  </style>
"""


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(draw(), "utf-8")


def draw() -> str:
    """Return the picture: a box per package, in it a row per layer of its contract."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    lines: list[str] = []
    whole = _WIDTH - 2 * _MARGIN
    side = round(0.4 * whole)
    top = _package(lines, "app", _layers(contracts, "app"), (_MARGIN, _MARGIN, whole)) + _MARGIN
    _package(lines, "connectors", _layers(contracts, "connectors"), (_WIDTH - _MARGIN - side, top, side))
    top = _package(lines, "api", _layers(contracts, "api"), (_MARGIN, top, whole - side - _MARGIN)) + _MARGIN
    top = _package(lines, "pipeline", _layers(contracts, "pipeline"), (_MARGIN, top, whole)) + _MARGIN
    top = _package(lines, "schemas", [_SCHEMAS], (_MARGIN, top, whole)) + _MARGIN
    return _HEAD.format(width=_WIDTH, height=top) + "\n".join([*lines, "</svg>\n"])


def _layers(contracts: list[dict[str, Any]], package: str) -> list[list[str]]:
    (contract,) = (found for found in contracts if found.get("containers") == [package])
    return [layer.split(" | ") for layer in contract["layers"]]


def _package(lines: list[str], name: str, rows: list[list[str]], place: tuple[int, int, int]) -> int:
    """Draw a package at `place` (left, top, width); return where it ends."""
    left, top, width = place
    height = len(rows) * _ROW - (_ROW - _ROOM) + 2 * _PADDING
    lines.append(f'  <rect class="layer" x="{left}" y="{top}" width="{width}" height="{height}" rx="8"/>')
    lines.append(f'  <text class="name" x="{left + _PADDING}" y="{top + 27}">{name}/</text>')
    for at, row in enumerate(rows):
        room = (width - _NAME - _PADDING - (len(row) - 1) * _GAP) / len(row)
        y = top + _PADDING + at * _ROW
        for column, label in enumerate(row):
            x = left + _NAME + column * (room + _GAP)
            lines.append(f'  <rect class="room" x="{x:.1f}" y="{y}" width="{room:.1f}" height="{_ROOM}" rx="4"/>')
            lines.append(f'  <text x="{x + room / 2:.1f}" y="{y + 17}">{label}</text>')
    return top + height


if __name__ == "__main__":
    main()
