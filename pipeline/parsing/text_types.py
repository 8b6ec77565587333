"""Detection of a text's kind: markup, data, mail, conversation, source code or prose, in bounded time."""

import json
import re
from itertools import islice

from pipeline.text.chats.message import transcript_of
from pipeline.text.chats.message_objects import complete_chat
from pipeline.text.chats.role_markers import marked_messages

_SAMPLE_CHARACTERS = 8192
_MAX_PARSED_JSON = 1024 * 1024
"""Longest JSON that is parsed; parsing holds the GIL."""
_HTML_TAG = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_HTML_BLOCK = re.compile(r"\s*<(?:p|div|h[1-6]|ul|ol|table|article|section|main|span)\b[^>]*>", re.IGNORECASE)
_EMAIL_HEADER = re.compile(r"[A-Z][A-Za-z-]{1,40}:(?: .*)?$")
_SPEAKER_LINE = re.compile(
    r"(?:[\[(]?[\d:./ ,TZAPMapm-]{4,30}[\])]?[ -]*)?(?:\*\*)?([^\W\d][\w .'-]{0,39}?)(?:\*\*)?:(?:\*\*)?\s+\S"
)
_CHAT_ROLES = frozenset({"user", "assistant", "system", "human", "ai", "agent", "bot", "customer", "tool"})
_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
_CODE_FENCE = re.compile(r"^(?:```|~~~)", re.MULTILINE)
# Every repetition is bounded, because these run on untrusted text.
_MARKDOWN_PATTERNS = (
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
_CODE_DEFINITION = re.compile(
    r"^(?:from [\w.]+ import |import [\w.]+(?: as \w+)?(?:, ?[\w.]+)*;?$|import [{*\w].* from |"
    r"(?:async )?def \w+\(|class \w+.*[:{]$|#include [<\"]|func .*\{$|(?:pub )?fn \w+.*\{$|"
    r"(?:export |async )*function \w.*\{|(?:export )?(?:const|let|var) \w+ ?=|public .*[{;]$|"
    r"package [\w.]+;?$|using [\w.]+;|@\w[\w.]*(?:\(|$)|(?:pub )?struct \w+|impl\b.*\{$)",
    re.MULTILINE,
)
"""Unindented lines of code that prose and Markdown contain only in fenced blocks."""
_MAX_CHAT_SPEAKERS = 12
_JSON_ESCAPE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+|\\.", re.DOTALL)


def detect_text_kind(text: str) -> str:
    """Return webpage, json, chat, email, csv, code, markdown or text."""
    sample = text[:_SAMPLE_CHARACTERS]
    if is_html(sample):
        return "webpage"
    if chat_as_transcript(text) is not None:
        return "chat"
    if text.lstrip()[:1] in {"{", "["} and _is_json(text):
        return "json"
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
    """Detect a page, or a fragment that begins and ends with tags."""
    sample = sample.lstrip("\ufeff \t\r\n")
    if not sample.startswith("<"):
        return False
    if _HTML_TAG.match(sample):
        return True
    if _HEADING.search(sample) or _CODE_FENCE.search(sample):
        return False  # Markdown that begins with tags, as many READMEs do, or quotes tags in an example
    if _HTML_TAG.search(sample):
        return True
    return bool(_HTML_BLOCK.match(sample)) and re.search(r"</\w+>\s*$|</\w+>\s*<", sample) is not None


def chat_as_transcript(text: str) -> str | None:
    """Convert a chat that a program wrote, whole, to readable lines; None for any other text."""
    if len(text) > _MAX_PARSED_JSON:
        return None
    title, messages = complete_chat(text)
    messages = messages or marked_messages(text, complete=True)
    return f"{title}\n\n{transcript_of(messages)}".lstrip() if messages else None


def unescape_json(text: str) -> str:
    r"""Write letters that JSON escapes as themselves, so that they are read and found; the rest stays as it is.

    >>> unescape_json(r'{"city": "Z\u00fcrich", "path": "C:\\users", "quoted": "\u0022"}')
    '{"city": "Zürich", "path": "C:\\\\users", "quoted": "\\u0022"}'
    """
    return _JSON_ESCAPE.sub(_unescaped, text) if "\\u" in text else text


def _unescaped(escape: re.Match[str]) -> str:
    if not escape[0].startswith("\\u"):
        return escape[0]
    letters: str = json.loads(f'"{escape[0]}"')
    return letters if letters.isprintable() and not set(letters) & {'"', "\\"} else escape[0]


def _is_json(text: str) -> bool:
    """Return whether a text is JSON, or JSON lines by the first one; judged by its ends where it is large."""
    if len(text) > _MAX_PARSED_JSON:
        return text.rstrip()[-1:] in {"}", "]"}
    first, _, rest = text.strip().partition("\n")
    return _is_json_value(text) or (rest.strip()[:1] == first[:1] and _is_json_value(first))


def _is_json_value(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_email(sample: str) -> bool:
    head = sample.lstrip().partition("\n\n" if "\n\n" in sample else "\r\n\r\n")[0].splitlines()
    names = {line.partition(":")[0].lower() for line in head if _EMAIL_HEADER.match(line)}
    folded = sum(1 for line in head if _EMAIL_HEADER.match(line) or line[:1] in {" ", "\t"})
    return folded == len(head) and "from" in names and len(names & {"to", "subject", "date", "message-id"}) >= 2


def _is_chat(lines: list[str]) -> bool:
    speakers = [match.group(1).lower() for line in lines if (match := _SPEAKER_LINE.match(line))]
    distinct = set(speakers)
    if len(speakers) < 2 or len(speakers) * 3 < len(lines) or len(distinct) > _MAX_CHAT_SPEAKERS:
        return False
    return bool(distinct & _CHAT_ROLES) or (len(distinct) >= 2 and len(speakers) >= 2 * len(distinct))


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
    return bool(_CODE_FENCE.search(sample)) or sum(1 for mark in _MARKDOWN_PATTERNS if mark.search(sample)) >= 2


def _is_code(sample: str, lines: list[str]) -> bool:
    if sample.startswith("#!"):
        return True
    if _CODE_FENCE.search(sample):
        return False
    if len(list(islice(_CODE_DEFINITION.finditer(sample), 2))) == 2:
        return True
    code_lines = sum(1 for line in lines if len(line) <= 500 and _CODE_LINE.match(line))
    return code_lines >= 3 and code_lines * 2 >= len(lines)
