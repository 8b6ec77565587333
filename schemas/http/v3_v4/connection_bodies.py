"""Bodies of v3 connections, which v5 calls connectors."""

from typing import Annotated, Any

from pydantic import Field

from schemas.http.field_types import Text
from schemas.http.v3_v4.lenient_body import TaggedBody
from schemas.limits import MAX_CONNECTOR_DOCUMENTS


class CreateConnectionBody(TaggedBody):
    """A connection to create; `metadata` holds the provider's options, such as startUrl or bucket."""

    document_limit: Annotated[int, Field(ge=1, le=MAX_CONNECTOR_DOCUMENTS)] | None = None
    redirect_url: Text | None = None
    metadata: dict[str, Any] | None = None
