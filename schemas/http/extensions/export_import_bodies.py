"""Bodies of export and import (extension of the contract)."""

from schemas.base import ResponseBody
from schemas.http.field_types import Count


class ImportResponse(ResponseBody):
    """Imported documents with their memories; `unchanged`: documents that existed already and were kept."""

    documents: Count
    memories: Count
    settings: Count
    unchanged: Count


class BlobResponse(ResponseBody):
    """Stored blob."""

    sha256: str
    size: Count
