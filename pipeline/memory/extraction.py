"""Who finds the facts in documents: rules always, a language model where one is configured."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.memory.drafts import MOST, Draft, drafts
from pipeline.memory.relations import moment
from pipeline.memory.writing import Work
from pipeline.rows import NamespaceRow

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Delay:
    """Facts can't be found now: why, for the operator, and after how many seconds to try again."""

    reason: str
    seconds: float


Found = Sequence[Draft] | Delay


class Extraction(Protocol):
    """Finds the facts of documents of one namespace, in the order of the documents."""

    async def facts(self, owner: NamespaceRow, works: Sequence[Work]) -> Sequence[Found]:
        """Of each document its facts, or why they have to wait. Never fails because of a text."""
        ...


class ByRules:
    """Offline and deterministic: `drafts`, in a thread."""

    async def facts(self, owner: NamespaceRow, works: Sequence[Work]) -> Sequence[Found]:  # noqa: ARG002 - rules know no namespace
        """As `Extraction.facts`; nothing ever waits."""
        found = await asyncio.to_thread(lambda: [stated(work) for work in works])
        for work, facts in zip(works, found, strict=True):
            if len(facts) == MOST:
                warn_of_many(work)
        return found


def stated(work: Work) -> list[Draft]:
    """What the rules find in a document, or in a part of one."""
    today = moment(work.date, work.at).date()
    return drafts(work.text, today, assumed=work.date is None)


def warn_of_many(work: Work) -> None:
    """Say that not all facts of a document are memories."""
    log.warning(
        "Document %s of %s: only its first %d facts are memories; its passages are all found.",
        work.document,
        work.space,
        MOST,
    )
