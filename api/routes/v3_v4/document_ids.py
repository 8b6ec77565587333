"""Document ids of v3: 22 characters that are unique among all containers.

A v3 path names no container. The id is the document's row key in URL-safe base64, so it leads to the row
without a lookup table. The custom id that a client chose is accepted in its place.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection
from dataclasses import dataclass

from api.dependencies.authentication import AuthenticatedCaller, NamespaceAccess
from api.errors.http_errors import NotFoundError
from api.routes.v3_v4.container_tags import open_container
from pipeline.rows import DocumentRow
from schemas.ids import document_key

_ID_LENGTH = 22
_KEY_BYTES = 16
_DERIVED_ID_LENGTH = 32
"""Length of an id that was derived from content, in hex digits."""


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document, and the access to its container."""

    access: NamespaceAccess
    row: DocumentRow


def encode_document_id(key: str) -> str:
    return urlsafe_b64encode(bytes.fromhex(key)).decode().rstrip("=")


def custom_id_of(row: DocumentRow) -> str | None:
    """Return the id that the client chose; None if it was derived from the content."""
    derived = len(row.id) == _DERIVED_ID_LENGTH and set(row.id) <= set("0123456789abcdef")
    return None if derived else row.id


async def find_document(caller: AuthenticatedCaller, id_or_custom_id: str) -> FoundDocument:
    """Find a document by its v3 id or its custom id; NotFoundError if the key is for none."""
    key = decode_document_id(id_or_custom_id)
    if key is not None and (found := await _find_readable(caller, [key])):
        return found
    keys = _keys_of_custom_id(caller, id_or_custom_id)
    caller.state.documents.hint_incarnations(keys)
    if found := await _find_readable(caller, keys):
        return found
    raise NotFoundError("Document not found", f"There is no document {id_or_custom_id[:100]!r}.")


async def _find_readable(caller: AuthenticatedCaller, keys: Collection[str]) -> FoundDocument | None:
    """Return the first document with one of these keys in a container of the caller's."""
    rows = await caller.state.documents.get(keys)
    for row in (row for key in keys for row in rows.get(key, ())):
        namespace = caller.state.catalog.namespace_of(row.incarnation)
        if namespace is not None and caller.principal.covers(namespace.name):
            return FoundDocument(open_container(caller, namespace.name), row)
    return None


def _keys_of_custom_id(caller: AuthenticatedCaller, custom_id: str) -> dict[str, str]:
    """Return the row keys that the id has in each namespace of the caller, with their incarnations."""
    incarnations = caller.state.catalog.incarnations(caller.principal.namespaces)
    return {document_key(incarnation, custom_id): incarnation for incarnation in incarnations}


def decode_document_id(text: str) -> str | None:
    """Return the row key that a v3 id stands for; None if the text is not such an id."""
    if len(text) != _ID_LENGTH or not text.isascii():
        return None
    try:
        key = urlsafe_b64decode(text + "==")
    except ValueError:
        return None
    return key.hex() if len(key) == _KEY_BYTES else None
