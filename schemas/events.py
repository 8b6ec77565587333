"""Events on topics. New fields are optional; a breaking change needs a new topic version."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from schemas.base import Event, Metadata

TaskType = Literal["memory", "superrag"]
Dreaming = Literal["dynamic", "instant"]
RelationKind = Literal["updates", "extends", "derives"]


class BlobRef(Event):
    """Claim check: reference to a large value in blob storage. `sha256` in hex, `size` in bytes."""

    sha256: str
    size: int
    media_type: str = "text/plain; charset=utf-8"


class Content(Event):
    """Text, inline or as a claim check: exactly one of the two is set."""

    text: str | None = None
    blob: BlobRef | None = None


class Upload(Event):
    """Uploaded file; `file_type` and `mime_type` are the caller's hints."""

    blob: BlobRef
    filename: str | None = None
    file_type: str | None = None
    mime_type: str | None = None


class DocumentSubmitted(Event):
    """Write, change or deletion of a document. Kept for ever; key `incarnation/document`.

    add: a new document, or content appended to an existing one. patch: content replaced if given, metadata
    merged key by key, the rest kept. replace: all fields as given, omitted fields cleared. delete: removal.
    """

    operation: Literal["add", "patch", "replace", "delete"]
    incarnation: str
    document: str
    id: str
    at: datetime
    content: Content | None = None
    upload: Upload | None = None
    metadata: Metadata | None = None
    group: Metadata | None = None
    supporting_context: str | None = None
    date: str | None = None
    task_type: TaskType | None = None
    dreaming: Dreaming | None = None
    title: str | None = None
    """Title at its source; None: taken from the text."""
    url: str | None = None
    """Address of the source. If set, content that is itself a URL is not fetched."""
    imported: "ImportedDocument | None" = None
    """Result of its processing in another deployment, for an import."""
    retries_failed: bool = False
    """The document failed, so the same content is processed again; otherwise a repetition adds nothing."""
    idempotency_key: str | None = None
    """Hashes of the client's idempotency key and of its request, with a colon between them.

    A submission with the key of another one within a day changes nothing.
    """


class ImportedDocument(Event):
    """Processing result of an exported document; nothing is fetched or parsed again.

    `error` instead of a text: it could not be parsed. `memories_included`: memories are imported too, and
    extraction is skipped. `memories`: those of the text, if they are in this event and not in one of their own.
    """

    text: Content | None = None
    type: str = "text"
    title: str | None = None
    summary: str | None = None
    url: str | None = None
    error: str | None = None
    memories_included: bool = False
    memories: "tuple[FormedMemory, ...]" = ()


class DocumentExtracted(Event):
    """Canonical text of a document as of a submission (`seq`). Kept for ever; key `incarnation/document`.

    `error`: why there is no text, in words for people; `text` is empty then.
    """

    incarnation: str
    document: str
    id: str
    seq: int
    at: datetime
    text: Content
    type: str
    title: str | None = None
    summary: str | None = None
    url: str | None = None
    date: str | None = None
    group: Metadata | None = None
    supporting_context: str | None = None
    task_type: TaskType = "memory"
    dreaming: Dreaming = "dynamic"
    error: str | None = None
    memories_included: bool = False
    """Memories are imported; extraction is skipped."""
    memories: "tuple[FormedMemory, ...]" = ()
    """The imported memories, if the submission had them."""
    is_repeated: bool = False
    """The text was published before; this event only asks for its memories, after a quiet time."""


class DocumentChunked(Event):
    """Chunks of a document: `chunks` is a JSON list of `ChunkSpan`. Key `incarnation/document`.

    `generation`: the set of tables that the chunks were made for.
    """

    incarnation: str
    document: str
    id: str
    seq: int
    at: datetime
    title: str | None = None
    chunks: Content
    generation: int = 0


class ChunkSpan(Event):
    """Passage of the canonical text; `start` and `end` are character offsets into it."""

    start: int
    end: int
    text: str
    heading: str | None = None
    page: str | None = None
    """Number of its page or slide, `12`, or of its first and last page, `12-13`; name of its sheet."""


class Relation(Event):
    """Directed relation from a memory to another, and the reason for it.

    `reason`: for people. `attribute`: the attribute of an entity that both describe. `evidence`: the words in
    both texts that show it. `score`: confidence within 0 and 1, if the rule has one.
    """

    kind: RelationKind
    target: str
    reason: str = ""
    attribute: str | None = None
    evidence: str | None = None
    score: float | None = None


class ImportedStatement(Event):
    """Properties of an exported statement beside its text."""

    incarnation: str
    since: datetime
    at: datetime
    forgotten_at: datetime | None = None
    forget_reason: str | None = None


class MemoryStatement(Event):
    """Atomic fact of a text. `date`: time of its source; `start`/`end`: its span in the canonical text."""

    id: str
    text: str
    is_static: bool = False
    is_inference: bool = False
    date: str | None = None
    event_dates: tuple[str, ...] = ()
    """Dates of the described event: ISO 8601 days, months, years, or intervals `first/last`."""
    start: int | None = None
    end: int | None = None
    relations: tuple[Relation, ...] = ()
    replaced_by: tuple[str, ...] = ()
    """Ids of existing memories about a later time, which update this one, or of which one will end the other."""
    worth: float | None = None
    """Score of how much it is worth keeping, if the extractor gives one."""
    in_profile: bool = True
    """Whether a profile may show it: not what files, pages and synced documents state."""
    said_by: str | None = None
    """Speaker of its sentence, if the text names one."""


class FormedMemory(MemoryStatement):
    """Statement as it was formed of a text, or imported."""

    effective_at: datetime | None = None
    """Time that decides about versions, if not `date`: a repetition is not a new version."""
    imported: ImportedStatement | None = None
    """Properties of an imported statement."""
    incarnation: str | None = None
    """Incarnation of the memory, if it belongs to another one that was moved to this namespace."""
    extracted_by: str | None = None
    """Extractor: the name of a language model, or `rules`; None in older events."""


class MemoriesFormed(Event):
    """All memories that a document's text supports as of `seq`. Kept for ever; key: incarnation.

    `is_provisional`: by rules, until the language model answers; another event for the same text follows.
    """

    incarnation: str
    document: str
    seq: int
    at: datetime
    memories: tuple[FormedMemory, ...]
    is_provisional: bool = False


class MemoriesForgotten(Event):
    """Memories to hide from recall; their history is kept. Key: incarnation.

    `sources`: per memory, the documents that stated it at that time with the `seq` of their texts. `restores`: the
    opposite, which takes back an earlier forgetting of these statements.
    """

    incarnation: str
    ids: tuple[str, ...]
    at: datetime
    reason: str = ""
    sources: dict[str, dict[str, int]] = Field(default_factory=dict)
    restores: bool = False


class NamespaceChanged(Event):
    """Whole state of a namespace (compacted; key `namespace/<name>`). No incarnations: it does not exist."""

    kind: Literal["namespace"] = "namespace"
    name: str
    epoch: int
    incarnations: tuple[str, ...]
    supporting_context: str | None = None
    description: str | None = None
    buckets: dict[str, str] = Field(default_factory=dict)
    recall_log: bool = False
    """True: reads of the namespace are recorded."""
    created_at: datetime
    updated_at: datetime


class OrganizationChanged(Event):
    """Settings of the organization (compacted; key `organization`)."""

    kind: Literal["organization"] = "organization"
    context: str | None = None
    buckets: dict[str, str] = Field(default_factory=dict)
    updated_at: datetime


class KeyChanged(Event):
    """API key (compacted; key `key/<id>`). Only the SHA-256 of the secret is stored, in hex."""

    kind: Literal["key"] = "key"
    id: str
    name: str
    sha256: str
    role: Literal["admin", "write", "read"]
    namespaces: tuple[str, ...] | None = None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    changed_at: datetime | None = None
    """Time of this change; None: the key as it was issued. The newest change counts."""
    previous_sha256: str | None = None
    previous_until: datetime | None = None
    """End of the previous secret's validity."""
    rate_limit: int | None = None
    """Requests per minute; None: the default of the settings, also for the next two limits."""
    monthly_documents: int | None = None
    monthly_searches: int | None = None
    monthly_bytes: int | None = None
    monthly_tokens: int | None = None
    """Budgets of what it adds and of what it is answered; None: unlimited."""
    issuer: str | None = None
    """Id of the key that issued this one; None: a key from before this was recorded, or the first."""
    scopes: tuple[str, ...] | None = None
    """What the key may do; None: what its role may."""


class ConnectorAccount(Event):
    """Account that a connector reads: `name` for people, `webhook_id` as in the provider's webhooks."""

    name: str
    webhook_id: str


class SelectedItem(Event):
    """Selected item of a provider."""

    id: str
    name: str


class ConnectorChanged(Event):
    """Whole state of a connector except its secrets (compacted; key `connector/<id>`).

    It belongs to an incarnation, so it moves and ends with its namespace. Status `removed`: deleted and being
    cleaned up, with its documents unless `keep_documents`; `gone`: cleanup finished. `selection_revision`
    counts changes that require a full listing: of the selection or the limit.
    """

    kind: Literal["connector"] = "connector"
    id: str
    provider: str
    incarnation: str
    status: Literal["pending", "active", "removed", "gone"]
    config: dict[str, str | int | float | bool] | None = None
    selection: dict[str, tuple[SelectedItem, ...]] | None = None
    document_limit: int
    account: ConnectorAccount | None = None
    authorization_expires_at: datetime | None = None
    sync_interval_seconds: float | None = None
    selection_revision: int = 0
    keep_documents: bool = False
    created_by_key: str | None = None
    """API key that created it and is charged for its documents; None in older events."""
    created_at: datetime
    updated_at: datetime


class SettingsChanged(Event):
    """Change of settings; the newest per key counts."""

    change: Annotated[
        NamespaceChanged | OrganizationChanged | KeyChanged | ConnectorChanged, Field(discriminator="kind")
    ]


SyncTrigger = Literal["event", "cron", "manual"]
ConnectorAction = Literal["sync", "remove"]
SyncError = Literal["auth_expired", "rate_limited", "plan_required", "provider_unavailable", "internal"]


class ConnectorTriggered(Event):
    """Request for a sync run or for the removal of a connector. Key `incarnation/connector`.

    `full`: list everything, regardless of the cursor.
    """

    connector: str
    run_id: str
    trigger: SyncTrigger
    at: datetime
    action: ConnectorAction = "sync"
    full: bool = False


class SyncItemFailure(Event):
    """Item that could not be synchronised, with the reason in words for users."""

    document: str
    title: str | None = None
    code: str
    message: str
    at: datetime


class SyncReported(Event):
    """Progress of a run: the newest report per run counts. Key `incarnation/connector`.

    `processed`: items seen; `failed`: items that could not be read (`failures` has some of them);
    `over_limit`: items beyond the document limit; `documents`: documents of the connector now.
    """

    connector: str
    run_id: str
    trigger: SyncTrigger
    status: Literal["running", "completed", "failed"]
    queued: bool = False
    """Requested and not started yet: the run will include changes made until it starts."""
    started_at: datetime
    completed_at: datetime | None = None
    error_code: SyncError | None = None
    error: str | None = None
    retry_at: datetime | None = None
    full: bool = False
    processed: int = 0
    failed: int = 0
    over_limit: int = 0
    failures: tuple[SyncItemFailure, ...] = ()
    documents: int = 0


class OperationRequested(Event):
    """Work on a namespace: move its incarnations to another name, or purge unowned rows. Key: source."""

    id: str
    kind: Literal["move", "purge"]
    source: str
    incarnations: tuple[str, ...]
    target: str | None = None
    at: datetime


QueryRewriteOutcome = Literal["rewritten", "unusable", "late"]


class ModelUsageRecorded(Event):
    """Cost of a language model request. Key: incarnation.

    Tokens as the endpoint counts them (0: not reported). `purpose`: extraction of memories, or rewriting of
    queries. `outcome`: `formed` and `rewritten`; `unusable`: the rules were used instead; `late`: a search
    did not wait. `documents`: documents in the request.
    """

    incarnation: str
    at: datetime
    purpose: Literal["memories", "queries"]
    model: str
    outcome: Literal["formed", "unusable"] | QueryRewriteOutcome
    documents: int
    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float


class ApiUsageCounted(Event):
    """Usage of an API key counted by a process in a month (compacted; key `month/instance/key`).

    `month`: `2026-01`, in UTC. `instance`: one run of a process. Counts only grow and the largest counts, so
    the sum over all instances is the key's usage, in whatever order and however often events are read.
    """

    month: str
    instance: str
    key: str
    documents: int
    searches: int
    bytes: int = 0
    """Of the texts and files that it added."""
    tokens: int = 0
    """Of the answers to its reads, at four characters each."""
    at: datetime


AuditOutcome = Literal["done", "repeated", "refused"]


class AuditEntryRecorded(Event):
    """Administrative action. All entries have the same key, so they are in one order.

    `details`: ids and options, never a secret or a text. `repeated`: it was done before, and its answer given again;
    `refused`: the key lacks the permission.
    """

    at: datetime
    action: str
    outcome: AuditOutcome
    key: str
    role: str
    address: str | None = None
    request_id: str | None = None
    details: dict[str, str] = Field(default_factory=dict)


class RecallRecorded(Event):
    """Read of a namespace that asks for a recall log. Key: the incarnation, so that it ends with the namespace.

    `operation`: operation id of the route. `purpose`: as the caller stated it. `query_digest`: SHA-256 of incarnation
    and query. `ids`: what the answer showed; empty if it covered several namespaces.
    """

    at: datetime
    incarnation: str
    operation: str
    key: str
    purpose: str | None = None
    query_digest: str | None = None
    ids: tuple[str, ...] = ()
    address: str | None = None
    request_id: str | None = None


class FeedbackSubmitted(Event):
    """Feedback of a user to the operators of this deployment. Key: id."""

    id: str
    at: datetime
    sender: str
    authenticated: bool
    type: str
    title: str
    description: str
    details: dict[str, str] = Field(default_factory=dict)


class QuestionNotification(Event):
    """Delivery of a standing question: ids of the memories that answer it, with their similarity.

    `error`: why the last attempt failed.
    """

    id: str
    at: datetime
    memories: dict[str, float]
    attempts: int = 0
    error: str | None = None
    retry_at: datetime | None = None


DeadLetterAction = Literal["redeliver", "discard"]


class QuestionChanged(Event):
    """Whole state of a standing question except its deliveries (compacted; key `incarnation/question/<id>`).

    It belongs to an incarnation, so it moves and ends with its namespace. `start`: offsets of `memories.formed` by
    partition from which memories are told. `sealed_secret`: encrypted. Deleted: without its words.
    """

    kind: Literal["question"] = "question"
    id: str
    incarnation: str
    query: str = ""
    url: str = ""
    threshold: float = 0.0
    sealed_secret: str = ""
    created_by_key: str
    is_paused: bool = False
    is_deleted: bool = False
    start: dict[int, int] = Field(default_factory=dict)
    dead_letter_action: DeadLetterAction | None = None
    dead_letter_action_at: datetime | None = None
    created_at: datetime
    updated_at: datetime


class QuestionReported(Event):
    """Deliveries of a standing question (compacted; key `incarnation/question/<id>/deliveries`).

    `positions`: next offsets of `memories.formed` by partition. `pending`: found and not delivered yet, in order.
    `dead_letters`: given up. `told`: ids of the memories last found, so that none is told twice.
    """

    kind: Literal["deliveries"] = "deliveries"
    id: str
    incarnation: str
    at: datetime
    positions: dict[int, int]
    pending: tuple[QuestionNotification, ...] = ()
    dead_letters: tuple[QuestionNotification, ...] = ()
    told: tuple[str, ...] = ()
    delivered: int = 0
    delivered_at: datetime | None = None
    handled_action_at: datetime | None = None
    """`dead_letter_action_at` of the action that was carried out last."""


class QuestionRecorded(Event):
    """Change of a standing question, or of its deliveries; the newest per key counts."""

    change: Annotated[QuestionChanged | QuestionReported, Field(discriminator="kind")]
