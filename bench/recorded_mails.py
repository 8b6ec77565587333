"""Recorded mails, read as files and as Gmail hands them out: which of them are read whole.

    python -m bench.recorded_mails --data DIR

A mail counts as right if its text holds 98 % of the words of each of its text parts, of alternatives those of one.
Words are taken from Python's own mail parser, except those that it can't decode.
"""

import argparse
import base64
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.errors import MissingHeaderBodySeparatorDefect
from email.message import EmailMessage
from pathlib import Path
from typing import Any, cast

from bench.recall import DATA
from connectors.providers.gmail.content import parse_message, thread_markdown
from pipeline.parsing.mail.mail_file import read_mail
from pipeline.parsing.markdown_conversion import to_markdown

_WORD = re.compile(r"\w{2,}")
_MIN_KEPT = 0.98


def main() -> None:
    """Print how many mails are read whole, and name the others."""
    options = argparse.ArgumentParser(prog="python -m bench.recorded_mails", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    folder = options.parse_args().data / "recordings" / "mail"
    if not folder.is_dir():
        print(f"No {folder}: mails are skipped.")
        return
    mails = [(path, path.read_bytes()) for path in sorted(folder.rglob("*.eml"))]
    print("| | mails | right | lost |\n|---|---:|---:|---:|")
    for name, read in (("as a file", lambda data: read_mail(data).text), ("as Gmail hands it out", _gmail_text)):
        wrong = [path for path, data in mails if not _is_whole(data, read(data))]
        print(f"| {name} | {len(mails)} | {len(mails) - len(wrong)} | {len(wrong)} |")
        for path in wrong:
            print(f"  {path.relative_to(folder)}")


def _is_whole(data: bytes, text: str) -> bool:
    message = message_from_bytes(data, policy=policy.default)
    have = set(_WORD.findall(text.lower()))
    return all(not bodies or any(_covers(have, body) for body in bodies) for bodies in _bodies(message))


def _covers(have: set[str], body: str) -> bool:
    decoded = " ".join(each for each in body.split() if "\ufffd" not in each)
    words = set(_WORD.findall(decoded.lower()))
    return len(words & have) >= _MIN_KEPT * len(words)


def _bodies(message: EmailMessage) -> Iterator[list[str]]:
    """Yield the alternatives of each text."""
    if message.get_content_type() == "multipart/alternative":
        yield [" ".join(body) for part in message.iter_parts() for body in [_texts(cast("EmailMessage", part))] if body]
    elif message.is_multipart():
        for part in message.iter_parts():
            yield from _bodies(cast("EmailMessage", part))
    else:
        yield [" ".join(_texts(message))]


def _texts(message: EmailMessage) -> list[str]:
    found = []
    for part in message.walk():
        is_text = part.get_content_maintype() == "text" and part.get_content_type() != "text/rfc822-headers"
        if is_text and not part.is_attachment() and not part.get_filename():
            try:
                content = str(part.get_content())
            except (LookupError, KeyError, ValueError, AssertionError):
                continue
            if any(isinstance(defect, MissingHeaderBodySeparatorDefect) for defect in message.defects):
                content = content.partition("\n\n")[2]  # Python took the rest of the header for text
            found.append(to_markdown(content) if part.get_content_type() == "text/html" else content)
    return found


def _gmail_text(data: bytes) -> str:
    message = message_from_bytes(data)
    resource = {"id": "1", "threadId": "1", "internalDate": None, "payload": _payload(message, "")}
    return thread_markdown([parse_message(resource)], {})


def _payload(message: Any, id_: str) -> dict[str, Any]:
    """Build the part that Gmail's API makes of a part of a mail."""
    headers = [{"name": name, "value": str(value)} for name, value in message.raw_items()]
    children = message.get_payload() if message.is_multipart() else []
    data = b"" if children else message.get_payload(decode=True) or b""
    body: dict[str, Any] = {"size": len(data)}
    if data:
        body["data"] = base64.urlsafe_b64encode(data).decode()
    return {
        "partId": id_,
        "mimeType": message.get_content_type(),
        "filename": message.get_filename() or "",
        "headers": headers,
        "body": body,
        "parts": [_payload(child, f"{id_}.{number}") for number, child in enumerate(children)],
    }


if __name__ == "__main__":
    main()
