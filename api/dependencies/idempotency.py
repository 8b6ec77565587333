"""Idempotency keys: a client's name for a write, by which a repeated request is recognised."""

from contextvars import ContextVar
from datetime import datetime
from hashlib import sha256
from uuid import uuid4

from api.errors.http_errors import BadRequestError, ConflictError
from pipeline.projection import IDEMPOTENCY_WINDOW, has_same_key
from pipeline.rows import DocumentRow

HEADER = "idempotency-key"
MAX_KEY_LENGTH = 255
_HASH_LENGTH = 16
_REUSED = "The idempotency key was used before"
_ADVICE = "with this key within a day. Use a new key for each request, and repeat a request with the very body it had."
_key_of_request: ContextVar[str | None] = ContextVar("idempotency_key", default=None)


def set_request_key(key: str | None) -> None:
    """Keep the key of the current request; None: it has none. BadRequestError if it is too long or empty."""
    if key is not None and not 0 < len(key) <= MAX_KEY_LENGTH:
        raise BadRequestError(
            "The idempotency key can't be accepted", f"The header Idempotency-Key has 1 to {MAX_KEY_LENGTH} characters."
        )
    _key_of_request.set(key)


def submission_key(namespace: str, item: int, request: object) -> str | None:
    """Return what an event carries of the request's key: hashes of the key and of what is asked for.

    `item`: place in the request, which may write several documents. `request`: anything with a repr that tells
    requests apart.
    """
    key = _key_of_request.get()
    return None if key is None else f"{_hash(f'{namespace}/{item}/{key}')}:{_hash(repr(request))}"


def answer_key(principal: str, path: str) -> str | None:
    """Return under what the answer to the current request is kept; None: it has no key."""
    key = _key_of_request.get()
    return None if key is None else _hash(f"{principal}/{path}/{key}")


def resource_id(prefix: str, namespace: str) -> str:
    """Return the id of what the current request creates: the same one for every repetition with its key."""
    key = _key_of_request.get()
    return f"{prefix}_{uuid4().hex if key is None else sha256(f'{namespace}/{key}'.encode()).hexdigest()[:32]}"


def reused_key(of: str) -> BadRequestError:
    """Return the error for a key with which something else was asked for, where the contract declares no 409."""
    return BadRequestError(_REUSED, f"{of} {_ADVICE}")


def is_known(row: DocumentRow | None, key: str | None, now: datetime) -> bool:
    """Return whether the document has had this request; ConflictError if the key was used for another one."""
    require_unused_key(row, key, now)
    return key in _recent_keys(row, key, now)


def require_unused_key(row: DocumentRow | None, key: str | None, now: datetime) -> None:
    """Raise ConflictError if another request changed the document with this key."""
    known = _recent_keys(row, key, now)
    if row is not None and known and key not in known:
        raise ConflictError(_REUSED, f"Another request changed document {row.id[:100]!r} {_ADVICE}")


def _recent_keys(row: DocumentRow | None, key: str | None, now: datetime) -> list[str]:
    """Return what the document's latest events carry of this request key."""
    if row is None or key is None:
        return []
    return [value for value, at in row.recent.keys if has_same_key(value, key) and abs(now - at) <= IDEMPOTENCY_WINDOW]


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:_HASH_LENGTH]
