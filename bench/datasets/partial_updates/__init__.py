"""People who introduce themselves in sixteen languages, and change one of the things that they said.

Written without a look at the rules; half of each language, by hash, is locked.
"""

import json
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class PartialUpdate:
    """Messages in order, and questions with parts of their answers.

    `changed`: asks for what a later message changed; `gone`: what the first message said of it; `kept`: ask for what
    the first message says and still holds.
    """

    language: str
    said: list[str]
    changed: tuple[str, str]
    gone: str
    kept: list[tuple[str, str]]


def partial_updates(*, locked: bool) -> list[PartialUpdate]:
    """Return one half of the people."""
    found = json.loads((_FOLDER / f"{'locked' if locked else 'open'}.json").read_text("utf-8"))
    return [
        PartialUpdate(
            person["lang"],
            person["said"],
            (person["changed"]["question"], person["changed"]["answer"]),
            person["gone"],
            [(kept["question"], kept["answer"]) for kept in person["kept"]],
        )
        for person in found
    ]
