"""Bodies of memories."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictBool

from schemas.base import ClosedResponseBody, RequestBody, ResponseBody
from schemas.http import field_types as fields
from schemas.limits import MAX_FORGET_IDS, MAX_FORGET_QUERY_LENGTH

EMAIL_PATTERN = (
    r"^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
)


class MemorySystem(ResponseBody):
    """Times of a memory's creation and last change."""

    created_at: fields.Timestamp
    updated_at: fields.Timestamp


class MemoryResponse(ResponseBody):
    """Atomic fact."""

    id: str
    memory: str
    metadata: fields.ResponseMetadata
    is_static: bool
    is_inference: bool
    is_latest: bool
    is_forgotten: bool
    version: fields.SafeInteger
    system: MemorySystem


class DocumentRefSystem(ResponseBody):
    """Times of a source's creation and last change."""

    created_at: fields.TimeText
    updated_at: fields.TimeText


class DocumentRef(ResponseBody):
    """The document that a result comes from."""

    id: str
    title: str | None
    type: str | None
    metadata: fields.ResponseMetadata
    summary: str | None
    system: DocumentRefSystem


class RelatedSystem(ResponseBody):
    """Time of a related memory's last change."""

    updated_at: fields.TimeText


class RelatedMemory(ResponseBody):
    """A memory that another one is related to, and how."""

    id: str
    relation: fields.RelationKind
    version: fields.NumberTypedInt | None = None
    memory: str
    metadata: fields.ResponseMetadata
    system: RelatedSystem


class RelatedMemoryWithDocument(RelatedMemory):
    """Related memory; with its document if both includes were requested."""

    document: fields.Omittable[DocumentRef] = None


class RelatedMemories(ResponseBody):
    """Earlier versions, later versions, and direct extends or derives links."""

    parents: list[RelatedMemoryWithDocument]
    children: list[RelatedMemoryWithDocument]
    siblings: list[RelatedMemoryWithDocument]


class MemoryIncluded(ResponseBody):
    """Parts requested with `include`."""

    related: fields.Omittable[RelatedMemories] = None
    document: fields.Omittable[DocumentRef] = None


class MemoryDetails(MemoryResponse):
    """Memory with the requested parts."""

    included: fields.Omittable[MemoryIncluded] = None


class ForgetBody(RequestBody):
    """Memories to forget, each on its own."""

    ids: Annotated[list[fields.ResourceId], Field(min_length=1, max_length=MAX_FORGET_IDS)]


class SemanticForgetBody(RequestBody):
    """Description of memories to forget. `dry_run`: only preview the matches."""

    query: Annotated[fields.Text, Field(min_length=1, max_length=MAX_FORGET_QUERY_LENGTH)]
    dry_run: StrictBool


class ForgetError(ClosedResponseBody):
    """A memory that could not be forgotten."""

    id: str
    error: str


class ForgetMatch(ClosedResponseBody):
    """A memory that is (or in a dry run would be) forgotten."""

    id: str
    memory: str


class ForgetResponse(ClosedResponseBody):
    """`count` equals the number of `matches`."""

    count: fields.Count
    errors: list[ForgetError]
    matches: list[ForgetMatch]


class FeedbackBody(RequestBody):
    """Feedback of a user. Unknown fields are ignored, as the contract specifies only for this body."""

    model_config = ConfigDict(extra="ignore")

    type: Literal["bug", "feature_request", "docs", "other"]
    title: Annotated[fields.Text, Field(min_length=1, max_length=120)]
    description: Annotated[fields.Text, Field(min_length=1, max_length=5000)]
    endpoint: fields.Omittable[Annotated[fields.Text, Field(max_length=200)]] = None
    request_id: fields.Omittable[Annotated[fields.Text, Field(max_length=200)]] = None
    expected: fields.Omittable[Annotated[fields.Text, Field(max_length=2000)]] = None
    actual: fields.Omittable[Annotated[fields.Text, Field(max_length=2000)]] = None
    client: fields.Omittable[Annotated[fields.Text, Field(max_length=200)]] = None
    contact_email: fields.Omittable[
        Annotated[str, Field(max_length=320, pattern=EMAIL_PATTERN, json_schema_extra={"format": "email"})]
    ] = None


class FeedbackResponse(ResponseBody):
    """`remaining` submissions until midnight UTC."""

    id: str
    remaining: fields.NumberTypedInt
