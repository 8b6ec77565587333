"""Histories: what clients asked for, what they were answered, and when."""

from dataclasses import dataclass, field
from typing import Literal

OperationKind = Literal["add", "patch_content", "patch_metadata", "delete", "read", "list", "move"]
WRITES: tuple[OperationKind, ...] = ("add", "patch_content", "patch_metadata")


@dataclass(frozen=True, slots=True)
class Sight:
    """State of a document that a client saw; `metadata` None: there was none.

    `is_stale`: the answer said that the log was away, so that it may be an earlier state than one seen before.
    """

    document: str
    metadata: dict[str, object] | None
    is_stale: bool = False


@dataclass(slots=True)
class Operation:
    """A request and its answer, with times of one monotonic clock.

    `token` is in the metadata and the content that it writes, and in no other. `status` None: no answer came.
    """

    client: int
    kind: OperationKind
    document: str
    token: str
    started: float
    ended: float = 0.0
    status: int | None = None
    attempts: int = 1
    sights: list[Sight] = field(default_factory=list)


@dataclass(slots=True)
class FinalState:
    """A document after everything was processed; `status` None: there is none.

    `is_moved`: it was looked for in the namespace to which the history's content was moved.
    """

    document: str
    status: str | None
    metadata: dict[str, object]
    content: str
    is_moved: bool = False


@dataclass(slots=True)
class History:
    """All operations on the documents of one namespace, and what was left of them.

    Its content may be moved away meanwhile; documents written later begin anew in the same namespace.
    """

    namespace: str
    operations: list[Operation] = field(default_factory=list)
    final: list[FinalState] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    """Public ids of the documents that a search found in the namespace."""
    found_moved: list[str] = field(default_factory=list)
    """The same in the namespace to which the content was moved."""
    is_moved: bool = False
    remembered: list[str] = field(default_factory=list)
    """What a process still recalled or listed of memories after it was acknowledged that they are forgotten."""
    is_unremembered: bool = False
    """True if a statement never became a memory."""
