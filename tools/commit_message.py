"""Check a commit message: a subject of at most 72 characters in the imperative, then an empty line."""

import re
import sys
from pathlib import Path

SUBJECT_CHARS = 72


def problems(message: str) -> list[str]:
    """List the faults of a commit message, in words for its author."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    found = []
    if not subject.strip():
        found.append("The subject is empty.")
    if len(subject) > SUBJECT_CHARS:
        found.append(f"The subject has {len(subject)} characters; at most {SUBJECT_CHARS} are shown whole.")
    if subject.endswith("."):
        found.append("The subject ends with a full stop; leave it out.")
    if subject and not re.match(r"[A-Z]|fixup! |squash! |Revert ", subject):
        found.append("The subject begins with a capital letter and a verb: 'Add', 'Fix', 'Rename'.")
    if len(lines) > 1 and lines[1].strip():
        found.append("The second line is empty; the body begins on the third.")
    return found


def main() -> int:
    """Print the problems of the message in the file named on the command line; 1 if there are any."""
    found = problems(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.stderr.write("".join(f"{problem}\n" for problem in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
