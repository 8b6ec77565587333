"""Bodies of redactions (extension of the contract)."""

from typing import Annotated

from pydantic import Field

from schemas.base import RequestBody, ResponseBody
from schemas.http.field_types import Count, ResourceId
from schemas.http.v5.memory_bodies import ForgetError, ForgetMatch
from schemas.limits import MAX_FORGET_IDS


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
