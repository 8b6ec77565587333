"""Data of the events of a namespace's feed, and bodies of standing questions (extension of the contract)."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictFloat

from schemas.base import PatchBody, RequestBody, ResponseBody
from schemas.events import DeadLetterAction
from schemas.http.field_types import Count, Omittable, Text, Timestamp
from schemas.limits import MAX_QUESTION_LENGTH, MAX_WEBHOOK_URL_LENGTH

DocumentEventName = Literal[
    "document.queued", "document.updated", "document.deleted", "document.extracted", "document.done", "document.failed"
]
MemoryEventName = Literal["memories.formed", "memories.forgotten", "memories.restored"]
FeedEventName = DocumentEventName | MemoryEventName
QuestionText = Annotated[Text, Field(min_length=1, max_length=MAX_QUESTION_LENGTH)]
ReceiverUrl = Annotated[Text, Field(min_length=1, max_length=MAX_WEBHOOK_URL_LENGTH)]
Threshold = Annotated[StrictFloat, Field(ge=0, le=1, allow_inf_nan=False)]


class DocumentFeedEvent(ResponseBody):
    """Change of a document. `type` and `title` with `document.extracted`, `error` with `document.failed`."""

    id: str
    at: Timestamp
    type: str | None = None
    title: str | None = None
    error: str | None = None


class CreatedMemory(ResponseBody):
    """New memory; `is_latest` False: a statement about a later time has replaced it already."""

    id: str
    memory: str
    version: Count
    is_static: bool
    is_inference: bool
    is_latest: bool


class ReplacedMemory(ResponseBody):
    """Memory that a new one replaced; its history is kept."""

    id: str
    memory: str
    replaced_by: str


class MemoriesFormedEvent(ResponseBody):
    """Memories that a document's text added, and those that these replaced."""

    document: str
    at: Timestamp
    created: list[CreatedMemory]
    replaced: list[ReplacedMemory]


class ForgottenMemory(ResponseBody):
    """Memory that is hidden from recall; its history is kept."""

    id: str
    memory: str


class MemoriesForgottenEvent(ResponseBody):
    """Memories that were forgotten together, and the reason given; or that were restored."""

    at: Timestamp
    reason: str
    forgotten: list[ForgottenMemory]


class QuestionBody(RequestBody):
    """Question whose new answers are sent to a webhook. `threshold`: minimum similarity, as in a search."""

    query: QuestionText
    url: ReceiverUrl
    threshold: Threshold = 0.3


class QuestionPatch(PatchBody):
    """Changes of a question. `paused`: nothing is sent; matches found meanwhile are sent when it resumes."""

    query: Omittable[QuestionText] = None
    url: Omittable[ReceiverUrl] = None
    threshold: Omittable[Threshold] = None
    paused: Omittable[StrictBool] = None


class DeadLettersBody(RequestBody):
    """Action on the notifications that could not be delivered."""

    action: DeadLetterAction


class UndeliveredNotification(ResponseBody):
    """Notification that its receiver did not accept, and why. `at`: when its memories were found."""

    id: str
    at: Timestamp
    memories: list[str]
    attempts: Count
    error: str


class QuestionResponse(ResponseBody):
    """A question and its deliveries. `failing`: `error` says why, `retry_at` when it is tried again.

    `stopped`: nothing is sent until somebody acts; `error` says what. `waiting`: notifications found and not delivered.
    """

    id: str
    query: str
    url: str
    threshold: float
    status: Literal["active", "paused", "failing", "stopped"]
    created_at: Timestamp
    updated_at: Timestamp
    delivered: Count
    waiting: Count
    delivered_at: Omittable[Timestamp] = None
    error: Omittable[str] = None
    retry_at: Omittable[Timestamp] = None
    dead_letters: list[UndeliveredNotification]


class QuestionCreated(QuestionResponse):
    """A question with the secret that signs its deliveries, which only this answer contains."""

    secret: str


class QuestionsResponse(ResponseBody):
    """The questions of a namespace, oldest first."""

    questions: list[QuestionResponse]


class QuestionDeleted(ResponseBody):
    """A question that was deleted."""

    id: str
    deleted: Literal[True]


class QuestionTried(ResponseBody):
    """Result of a test delivery; `error`: why the receiver did not accept it."""

    delivered: bool
    error: str | None


class AnsweringMemory(ResponseBody):
    """New memory that answers a question. `document`: id of the document that stated it first."""

    id: str
    memory: str
    similarity: float
    is_latest: bool
    document: str | None
    replaced: list[ReplacedMemory]


class AskedQuestion(ResponseBody):
    """The question of a notification."""

    id: str
    query: str


class Notification(ResponseBody):
    """Body that a receiver gets. `question.test` has no memories."""

    type: Literal["question.answered", "question.test"]
    id: str
    at: Timestamp
    namespace: str
    question: AskedQuestion
    memories: list[AnsweringMemory]
