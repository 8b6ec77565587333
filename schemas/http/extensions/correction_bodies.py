"""Bodies of corrections of memories, of updates to review, and of redactions (extension of the contract)."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import RequestBody, ResponseBody
from schemas.http.field_types import Count, Omittable, ResourceId, Text
from schemas.http.v5.memory_bodies import ForgetError, ForgetMatch
from schemas.limits import MAX_FORGET_IDS

CorrectionAction = Literal["edit", "confirm", "end", "forget", "restore", "accept", "decline", "keep-both", "withdraw"]
DECISIONS = frozenset({"accept", "decline", "keep-both"})
MAX_MEMORY_TEXT_LENGTH = 2000


class CorrectionBody(RequestBody):
    """Correction of the memory `id`; `withdraw` takes back the correction that is kept as the document `id`.

    `text`: the new wording, for `edit`. `replaced`: the memory that `id` replaces, for `accept`, `decline` and
    `keep-both`.
    """

    action: CorrectionAction
    id: ResourceId
    text: Omittable[Annotated[Text, Field(min_length=1, max_length=MAX_MEMORY_TEXT_LENGTH)]] = None
    replaced: Omittable[ResourceId] = None


class CorrectionUndo(ResponseBody):
    """The correction that takes another one back."""

    action: Literal["restore", "withdraw"]
    id: str


class CorrectionResponse(ResponseBody):
    """The memory that holds after a correction, None if none does, and what takes the correction back."""

    id: str | None
    memory: str | None
    undo: CorrectionUndo | None


class ReviewedStatement(ResponseBody):
    """One of two memories that contradict each other, with the words and the document that state it."""

    id: str
    memory: str
    date: str
    document: str | None
    title: str | None
    sentence: str | None


class Review(ResponseBody):
    """A memory that replaces another one, which nobody has decided about.

    `kind`: `contradiction` of statements of the same day, `unsure` update, or `update`. `certainty`: from 0 to 1, if
    the rule has one.
    """

    kind: Literal["contradiction", "unsure", "update"]
    reason: str
    certainty: float | None
    newer: ReviewedStatement
    older: ReviewedStatement


class ReviewResponse(ResponseBody):
    """A part of the updates to review, the doubtful first. `total`: of all; `doubtful`: without plain updates."""

    reviews: list[Review]
    total: Count
    doubtful: Count


class RedactionBody(RequestBody):
    """Memories to forget, together with the sentences that state them. `dryRun`: only show these."""

    ids: Annotated[list[ResourceId], Field(min_length=1, max_length=MAX_FORGET_IDS)]
    dry_run: bool = False


class RedactedDocument(ResponseBody):
    """Document with the sentences that are (or in a dry run would be) taken out of it.

    `deleted`: it has nothing else.
    """

    id: str
    title: str | None
    sentences: list[str]
    deleted: bool


class RedactionResponse(ResponseBody):
    """Result of a redaction. `matches`: memories that go, those that the same sentences state included.

    `errors`: memories whose sentences stay, and why. They are forgotten nevertheless, if they exist.
    """

    count: Count
    documents: list[RedactedDocument]
    matches: list[ForgetMatch]
    errors: list[ForgetError]
