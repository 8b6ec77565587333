"""Container tags as namespaces, opened with the rights of the caller's key."""

from collections.abc import Sequence

from api.dependencies.authentication import AuthenticatedCaller, NamespaceAccess
from api.errors.http_errors import BadRequestError, ForbiddenError, NotImplementedHereError
from pipeline.rows import NamespaceRow

DEFAULT_CONTAINER_TAG = "default"
"""Namespace of a document that is added without a container tag."""
ORGANIZATION_ID = "organization"
"""Id of the one organization of a deployment."""
MAX_NAMESPACES_SEARCHED = 50
"""Namespaces that a search without container tags covers."""


def open_for_change(caller: AuthenticatedCaller, tags: Sequence[str]) -> NamespaceAccess:
    """Open the container that a change names, which the route's key may make; ForbiddenError if it is not for it."""
    if len(tags) > 1:
        raise NotImplementedHereError(
            "A document is in one container here", f"Send one container tag, not {len(tags)}: {', '.join(tags)[:200]}."
        )
    return open_container(caller, tags[0] if tags else DEFAULT_CONTAINER_TAG)


def open_container(caller: AuthenticatedCaller, tag: str) -> NamespaceAccess:
    """Open a container for what the route's key may do; ForbiddenError if the key is not for it."""
    caller.add_audit_fields(namespace=tag)
    if not caller.principal.covers(tag):
        raise ForbiddenError("The key does not open this container", f"containerTag: {tag}")
    caller.note_read(tag)
    return NamespaceAccess(caller.state, caller.principal, tag, caller.add_audit_fields)


def readable_containers(caller: AuthenticatedCaller, tags: Sequence[str]) -> list[NamespaceRow]:
    """Return the existing namespaces that a read covers: those named, or all that the key may read."""
    if not tags:
        found = caller.state.catalog.newest(caller.principal.readable)
        for row in found:
            caller.note_read(row.name)
        return found
    rows = [caller.state.catalog.namespace(open_container(caller, tag).namespace) for tag in tags]
    return [row for row in rows if row is not None]


def readable_incarnations(caller: AuthenticatedCaller, tags: Sequence[str]) -> list[str]:
    """Return the incarnations of the existing namespaces that a read covers."""
    return [incarnation for row in readable_containers(caller, tags) for incarnation in row.incarnations]


def searchable_containers(caller: AuthenticatedCaller, tags: Sequence[str]) -> list[NamespaceRow]:
    """Return the namespaces that a search covers; BadRequestError if there are too many to search at once."""
    covered = len(tags) or caller.state.catalog.count(caller.principal.readable)
    if covered > MAX_NAMESPACES_SEARCHED:
        raise BadRequestError(
            "Name a container tag",
            f"The key reads {covered:,} containers, and one search covers at most {MAX_NAMESPACES_SEARCHED}.",
        )
    return readable_containers(caller, tags)
