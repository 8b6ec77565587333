"""What a text looks like: markup, data, mail, a conversation, source code or prose. Cheap, pure, bounded."""

import json
import re
from itertools import islice
from typing import Any

_SAMPLE = 8192
_PARSED = 1024 * 1024
"""Longer JSON is not parsed: that would stop the whole process for a while."""
_HTML = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_HTML_BLOCK = re.compile(r"\s*<(?:p|div|h[1-6]|ul|ol|table|article|section|main|span)\b[^>]*>", re.IGNORECASE)
_HEADER = re.compile(r"[A-Z][A-Za-z-]{1,40}:(?: .*)?$")
_SPEAKER = re.compile(
    r"(?:[\[(]?[\d:./ ,TZAPMapm-]{4,30}[\])]?[ -]*)?(?:\*\*)?([^\W\d][\w .'-]{0,39}?)(?:\*\*)?:(?:\*\*)?\s+\S"
)
_ROLES = frozenset({"user", "assistant", "system", "human", "ai", "agent", "bot", "customer", "tool"})
_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
_FENCE = re.compile(r"^(?:```|~~~)", re.MULTILINE)
# Every repetition is bounded: these run on whatever anybody sends.
_MARKS = (
    re.compile(r"^[ \t]{0,12}(?:[-*+]|\d{1,3}[.)]) \S.*\n[ \t]{0,12}(?:[-*+]|\d{1,3}[.)]) \S", re.MULTILINE),
    re.compile(r"\[[^\[\]\n]{1,200}\]\([^()\s]{1,500}\)"),
    re.compile(r"\*\*[^*\n]{1,200}\*\*|__[^_\n]{1,200}__"),
    re.compile(r"^\|[^\n]{1,500}\|[ \t]*\n\|[ :|-]{1,500}\|", re.MULTILINE),
    re.compile(r"^> \S", re.MULTILINE),
    re.compile(r"`[^`\n]{1,200}`"),
)
_CODE_LINE = re.compile(
    r"\s*(?:import\s+[\w.]+(?:\s+as\s+\w+)?|from\s+[\w.]+\s+import\s.+|(?:package|using)\s+[\w.]+|"
    r"(?:def|class|import|from|func|fn|function|const|let|var|public|private|protected|static|package|use|"
    r"using|namespace|struct|enum|interface|impl|module|require|export|async|await|return|if|for|while|try|"
    r"catch|except|elif|else|end|#include|#define|@\w+)\b.*[:;{}()=\]>]|.*[;{}]|[\w.]+\(.*\)|"
    r"[\w.]+\s*[-+*/]?=\s*\S.*|//.*|\})\s*$"
)
_DEFINITION = re.compile(
    r"^(?:from [\w.]+ import |import [\w.]+(?: as \w+)?(?:, ?[\w.]+)*;?$|import [{*\w].* from |"
    r"(?:async )?def \w+\(|class \w+.*[:{]$|#include [<\"]|func .*\{$|(?:pub )?fn \w+.*\{$|"
    r"(?:export |async )*function \w.*\{|(?:export )?(?:const|let|var) \w+ ?=|public .*[{;]$|"
    r"package [\w.]+;?$|using [\w.]+;|@\w[\w.]*(?:\(|$)|(?:pub )?struct \w+|impl\b.*\{$)",
    re.MULTILINE,
)
"""Lines at the margin that prose and Markdown have only inside of fences."""
_CHAT_SPEAKERS = 12


def kind_of_text(text: str) -> str:
    """webpage, json, chat, email, csv, code, markdown or text."""
    sample = text[:_SAMPLE]
    if is_html(sample):
        return "webpage"
    if text.lstrip()[:1] in {"{", "["} and (data := _json(text)) is not None:
        return "chat" if messages(data) is not None else "json"
    lines = [line for line in islice(sample.splitlines(), 200) if line.strip()]
    if _is_email(sample):
        return "email"
    if _is_chat(lines):
        return "chat"
    if _is_csv(lines):
        return "csv"
    if _is_code(sample, lines):
        return "code"
    return "markdown" if _is_markdown(sample) else "text"


def is_html(sample: str) -> bool:
    """A page, or a fragment that begins and ends with tags."""
    sample = sample.lstrip("\ufeff \t\r\n")
    if not sample.startswith("<"):
        return False
    if _HTML.match(sample):
        return True
    if _HEADING.search(sample) or _FENCE.search(sample):
        return False  # Markdown that begins with tags, as many a README does, or shows some in an example
    if _HTML.search(sample):
        return True
    return bool(_HTML_BLOCK.match(sample)) and re.search(r"</\w+>\s*$|</\w+>\s*<", sample) is not None


def messages(data: Any) -> list[tuple[str, str]] | None:
    """(role, content) of a conversation in JSON as chat interfaces send it; None: it is something else."""
    turns = data.get("messages") if isinstance(data, dict) else data
    if not isinstance(turns, list) or not turns:
        return None
    found = [_message(turn) for turn in turns]
    return [one for one in found if one is not None] if None not in found else None


def conversation(text: str) -> str | None:
    """A conversation in JSON as lines a person reads; None: the text is no such JSON."""
    turns = messages(_json(text)) if text.lstrip()[:1] in {"{", "["} else None
    return "\n\n".join(f"{role}: {content}" for role, content in turns) if turns is not None else None


def _message(turn: Any) -> tuple[str, str] | None:
    if not isinstance(turn, dict):
        return None
    role, content = turn.get("role"), turn.get("content")
    if isinstance(content, list):
        content = "\n".join(
            part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    if not isinstance(role, str) or not isinstance(content, str):
        return None
    name = turn.get("name")
    return (name if isinstance(name, str) and name else role, content.strip())


def _json(text: str) -> Any:
    """The parsed value, or a stand-in for JSON lines and for what is too large; None: no JSON."""
    if len(text) > _PARSED:
        return {"large": True} if text.rstrip()[-1:] in {"}", "]"} else None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        first, _, rest = text.strip().partition("\n")
    if rest.strip()[:1] != first[:1]:
        return None
    try:
        return json.loads(first) and {"lines": True}
    except (ValueError, RecursionError):
        return None


def _is_email(sample: str) -> bool:
    head = sample.lstrip().partition("\n\n" if "\n\n" in sample else "\r\n\r\n")[0].splitlines()
    names = {line.partition(":")[0].lower() for line in head if _HEADER.match(line)}
    folded = sum(1 for line in head if _HEADER.match(line) or line[:1] in {" ", "\t"})
    return (
        folded == len(head) and "from" in names and len(names & {"to", "subject", "date", "message-id"}) >= 2
    )


def _is_chat(lines: list[str]) -> bool:
    speakers = [found.group(1).lower() for line in lines if (found := _SPEAKER.match(line))]
    distinct = set(speakers)
    if len(speakers) < 2 or len(speakers) * 3 < len(lines) or len(distinct) > _CHAT_SPEAKERS:
        return False
    return bool(distinct & _ROLES) or (len(distinct) >= 2 and len(speakers) >= 2 * len(distinct))


def _is_csv(lines: list[str]) -> bool:
    rows = lines[:20]
    if len(rows) < 3 or any(len(row) > 2000 for row in rows):
        return False
    return any(_is_table(rows, separator) for separator in ",;\t")


def _is_table(rows: list[str], separator: str) -> bool:
    counts = {re.sub(r'"[^"]*"', "", row).count(separator) for row in rows}
    if len(counts) != 1 or counts == {0}:
        return False
    cells = [cell.strip() for cell in rows[0].split(separator)]
    prose = sum(1 for row in rows if row.rstrip().endswith((".", "?", "!")))
    return all(cells) and max(map(len, cells)) <= 40 and len(set(cells)) == len(cells) and not prose


def _is_markdown(sample: str) -> bool:
    if _HEADING.search(sample):
        return True
    return bool(_FENCE.search(sample)) or sum(1 for mark in _MARKS if mark.search(sample)) >= 2


def _is_code(sample: str, lines: list[str]) -> bool:
    if sample.startswith("#!"):
        return True
    if _FENCE.search(sample):
        return False
    if len(list(islice(_DEFINITION.finditer(sample), 2))) == 2:
        return True
    like = sum(1 for line in lines if len(line) <= 500 and _CODE_LINE.match(line))
    return like >= 3 and like * 2 >= len(lines)
