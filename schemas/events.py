"""What is written to topics. New fields are optional; a breaking change is a new topic version."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from schemas.base import Event, Metadata

TaskType = Literal["memory", "superrag"]
Dreaming = Literal["dynamic", "instant"]
RelationKind = Literal["updates", "extends", "derives"]


class BlobRef(Event):
    """A claim check: where a large value really is. `sha256` in hex, `size` in bytes."""

    sha256: str
    size: int
    media_type: str = "text/plain; charset=utf-8"


class Content(Event):
    """A text, inline or as a claim check: exactly one of the two is set."""

    text: str | None = None
    blob: BlobRef | None = None


class Upload(Event):
    """A file as the caller sent it; `file_type` and `mime_type` are the caller's hints."""

    blob: BlobRef
    filename: str | None = None
    file_type: str | None = None
    mime_type: str | None = None


class DocumentSubmitted(Event):
    """Somebody wrote, changed or deleted a document. Kept for ever; key `space/document`.

    add: new, or appended to what is there. patch: content replaced where given, metadata merged key by key,
    the rest kept. replace: everything as given, what is omitted is cleared. delete: the document goes.
    """

    operation: Literal["add", "patch", "replace", "delete"]
    space: str
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
    """What its source calls it; else the text says."""
    url: str | None = None
    """Where it came from. A content that is a URL itself is not fetched then."""
    known: "KnownText | None" = None
    """What became of it elsewhere, for an import."""


class KnownText(Event):
    """What a document became where it was exported: nothing is fetched or parsed again.

    `error` instead of a text: it could not be read there. `formed`: its memories come too, none are formed.
    """

    text: Content | None = None
    type: str = "text"
    title: str | None = None
    summary: str | None = None
    url: str | None = None
    error: str | None = None
    formed: bool = False


class DocumentExtracted(Event):
    """The canonical text of a document as of one submission (`seq`). Kept for ever; key `space/document`.

    `error`: there is none, and this is the reason for people; `text` is empty then.
    """

    space: str
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
    formed: bool = False
    """Its memories are known already, none are to be formed."""


class DocumentChunked(Event):
    """The chunks of a document: `chunks` is a JSON list of `ChunkSpan`. Key `space/document`.

    `generation`: that of the tables they were made for; another one has its own.
    """

    space: str
    document: str
    id: str
    seq: int
    at: datetime
    title: str | None = None
    chunks: Content
    generation: int = 0


class ChunkSpan(Event):
    """A passage of the canonical text; `start` and `end` are character offsets into it."""

    start: int
    end: int
    text: str
    heading: str | None = None


class Relation(Event):
    """A directed relation from a memory to another, and the reason it was drawn.

    `why` is for people. `slot`: the attribute of whom both speak; `evidence`: what in the two texts shows it;
    `score`: how sure that is, within 0 and 1, where the rule can tell.
    """

    kind: RelationKind
    target: str
    why: str = ""
    slot: str | None = None
    evidence: str | None = None
    score: float | None = None


class Restored(Event):
    """What a document's statement of a memory was where it was exported, beside what it says."""

    space: str
    since: datetime
    at: datetime
    forgotten_at: datetime | None = None
    forget_reason: str | None = None


class FormedMemory(Event):
    """One atomic fact. `date` is the time of its source, `start`/`end` its span in the canonical text."""

    id: str
    text: str
    is_static: bool = False
    is_inference: bool = False
    date: str | None = None
    event_dates: tuple[str, ...] = ()
    """When what it tells happens: ISO 8601 days, months, years, or intervals `first/last`."""
    start: int | None = None
    end: int | None = None
    relations: tuple[Relation, ...] = ()
    replaced_by: tuple[str, ...] = ()
    """Ids of memories known already that speak of a later time: they update this one."""
    since: datetime | None = None
    """The time it speaks of, where that decides about versions: a repetition says nothing new."""
    restored: Restored | None = None
    """For an import."""
    space: str | None = None
    """Where the memory is, if in another space of the namespace: one that was moved there."""
    by: str | None = None
    """What found it: a language model by its name, or `rules`; None where that was not noted."""


class MemoriesFormed(Event):
    """All memories that a document's text supports as of `seq`. Kept for ever; key = space."""

    space: str
    document: str
    seq: int
    at: datetime
    memories: tuple[FormedMemory, ...]


class MemoriesForgotten(Event):
    """Memories to hide from recall; their history stays. Key = space.

    `sources`: by memory, the documents that stated it then and the `seq` of their texts.
    """

    space: str
    ids: tuple[str, ...]
    at: datetime
    reason: str = ""
    sources: dict[str, dict[str, int]] = Field(default_factory=dict)


class NamespaceChanged(Event):
    """The whole state of a namespace (compacted; key `namespace/<name>`). No spaces: it does not exist."""

    kind: Literal["namespace"] = "namespace"
    name: str
    generation: int
    spaces: tuple[str, ...]
    supporting_context: str | None = None
    description: str | None = None
    buckets: dict[str, str] = Field(default_factory=dict)
    created_at: datetime
    updated_at: datetime


class OrganizationChanged(Event):
    """The organization's settings (compacted; key `organization`)."""

    kind: Literal["organization"] = "organization"
    context: str | None = None
    buckets: dict[str, str] = Field(default_factory=dict)
    updated_at: datetime


class KeyChanged(Event):
    """An API key (compacted; key `key/<id>`). The secret is stored as SHA-256 in hex, never itself."""

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
    """Of this change; None: the key as it was issued. The newest counts."""
    previous_sha256: str | None = None
    previous_until: datetime | None = None
    """The secret before the newest, which opens as much until then."""
    rate_limit: int | None = None
    """Requests a minute; None: as the settings say, as for the next two."""
    monthly_documents: int | None = None
    monthly_searches: int | None = None


class ConnectorAccount(Event):
    """Whose account a connector reads: `name` for people, `key` as the provider's webhooks name it."""

    name: str
    key: str


class ConnectorChoice(Event):
    """Something that was selected."""

    id: str
    name: str


class ConnectorChanged(Event):
    """The whole state of a connector but for its secrets (compacted; key `connector/<id>`).

    It belongs to a space, so it moves and ends with its namespace. `removed`: somebody deleted it and it is
    being cleaned up, its documents with it unless `keep_documents`; `gone`: nothing is left of it.
    `revision` counts what makes a complete listing necessary: a selection, a limit. `every`: seconds.
    """

    kind: Literal["connector"] = "connector"
    id: str
    provider: str
    space: str
    status: Literal["pending", "active", "removed", "gone"]
    config: dict[str, str | float | bool] | None = None
    selection: dict[str, tuple[ConnectorChoice, ...]] | None = None
    document_limit: int
    account: ConnectorAccount | None = None
    authorize_until: datetime | None = None
    every: float | None = None
    revision: int = 0
    keep_documents: bool = False
    key: str | None = None
    """The API key that made it, whose documents of the month its own are; None: it is older than this."""
    created_at: datetime
    updated_at: datetime


class SettingsChanged(Event):
    """One change of settings; the newest per key is the truth."""

    change: Annotated[
        NamespaceChanged | OrganizationChanged | KeyChanged | ConnectorChanged, Field(discriminator="kind")
    ]


SyncTrigger = Literal["event", "cron", "manual"]
ConnectorWork = Literal["sync", "remove"]
SyncError = Literal["auth_expired", "rate_limited", "plan_required", "provider_unavailable", "internal"]


class ConnectorTriggered(Event):
    """A connector has something to do: a run of this id, or its removal. Key `space/connector`.

    `full`: whatever the cursor says, everything is to be listed.
    """

    connector: str
    run: str
    trigger: SyncTrigger
    at: datetime
    work: ConnectorWork = "sync"
    full: bool = False


class SyncFailed(Event):
    """An item that could not be synchronised, and why, for a customer."""

    document: str
    title: str | None = None
    code: str
    message: str
    at: datetime


class SyncReported(Event):
    """How a run stands: the newest report per run is the truth. Key `space/connector`.

    `processed` counts items looked at, `failed` those that could not be read (`failures` holds some of them),
    `left_out` those above documentLimit; `documents`: how many the connector has now.
    """

    connector: str
    run: str
    trigger: SyncTrigger
    status: Literal["running", "completed", "failed"]
    queued: bool = False
    """Asked for, and not begun: it will see whatever happens until then."""
    started_at: datetime
    completed_at: datetime | None = None
    error_code: SyncError | None = None
    error: str | None = None
    retry_at: datetime | None = None
    full: bool = False
    processed: int = 0
    failed: int = 0
    left_out: int = 0
    failures: tuple[SyncFailed, ...] = ()
    documents: int = 0


class OperationRequested(Event):
    """Work on a namespace: hand its spaces to another name, or remove rows nobody owns. Key = source."""

    id: str
    kind: Literal["move", "purge"]
    source: str
    spaces: tuple[str, ...]
    target: str | None = None
    at: datetime


QueryOutcome = Literal["rewritten", "unusable", "late"]


class UsageRecorded(Event):
    """What one question to a language model cost. Key = space.

    Tokens as the endpoint counts them (0: it did not say). `purpose`: to find facts in documents, or other
    ways to ask queries. `outcome`: `formed` and `rewritten`, or `unusable` where rules had to do, or `late`
    where a search could not wait. `documents`: how many were asked about.
    """

    space: str
    at: datetime
    purpose: Literal["memories", "queries"]
    model: str
    outcome: Literal["formed", "unusable"] | QueryOutcome
    documents: int
    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float


class UsageCounted(Event):
    """What one process counted for one API key in a month so far (compacted; key `month/counter/key`).

    `month`: `2026-01`, in UTC. `counter`: that life of the process. Counts only grow, and the largest is the
    truth: adding up the counters gives the key's usage, however often and in which order they are read.
    """

    month: str
    counter: str
    key: str
    documents: int
    searches: int
    at: datetime


ActOutcome = Literal["done", "refused"]


class ActRecorded(Event):
    """Somebody administered the service. One key for all: they have one order.

    `details`: what it was about, ids and options, never a secret or a text. `refused`: the key may not.
    """

    at: datetime
    act: str
    outcome: ActOutcome
    key: str
    role: str
    address: str | None = None
    request_id: str | None = None
    details: dict[str, str] = Field(default_factory=dict)


class FeedbackSubmitted(Event):
    """What a user wrote to the operators of this deployment. Key = id."""

    id: str
    at: datetime
    sender: str
    keyed: bool
    type: str
    title: str
    description: str
    details: dict[str, str] = Field(default_factory=dict)
