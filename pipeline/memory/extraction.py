"""Who finds the facts in documents: rules always, a language model where one is configured."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.breath import steps
from pipeline.memory.drafts import MOST, Draft, drafting
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
    """Offline and deterministic."""

    async def facts(self, owner: NamespaceRow, works: Sequence[Work]) -> Sequence[Found]:  # noqa: ARG002 - rules know no namespace
        """As `Extraction.facts`; nothing ever waits."""
        return [await self._facts(work) for work in works]

    async def _facts(self, work: Work) -> list[Draft]:
        facts = [one for one in await steps(len(work.text), lambda: _stating(work)) if one is not None]
        if len(facts) == MOST:
            warn_of_many(work)
        return facts


def stated(work: Work) -> list[Draft]:
    """What the rules find in a document, or in a part of one."""
    return [one for one in _stating(work) if one is not None]


def _stating(work: Work) -> Iterator[Draft | None]:
    return drafting(work.text, moment(work.date, work.at).date(), assumed=work.date is None)


def warn_of_many(work: Work) -> None:
    """Say that not all facts of a document are memories."""
    log.warning(
        "Document %s of %s: only its first %d facts are memories; its passages are all found.",
        work.document,
        work.space,
        MOST,
    )
