"""Bodies of v3 connections, which v5 calls connectors."""

from typing import Annotated, Any

from pydantic import Field

from schemas.base import ResponseBody
from schemas.http.field_types import Text
from schemas.http.v3_v4.lenient_body import TaggedBody
from schemas.limits import MAX_CONNECTOR_DOCUMENTS


class CreateConnectionBody(TaggedBody):
    """A connection to create; `metadata` holds the provider's options, such as startUrl or bucket."""

    document_limit: Annotated[int, Field(ge=1, le=MAX_CONNECTOR_DOCUMENTS)] | None = None
    redirect_url: Text | None = None
    metadata: dict[str, Any] | None = None


class ConnectionCreated(ResponseBody):
    """A new connection; `auth_link` is empty where nobody has to authorize it."""

    id: str
    auth_link: str
    expires_in: str
    redirects_to: str | None = None


class Connection(ResponseBody):
    id: str
    provider: str
    created_at: str
    document_limit: int
    email: str | None = None
    container_tags: list[str]
    metadata: dict[str, Any]


class ConnectionDeleted(ResponseBody):
    id: str
    provider: str
