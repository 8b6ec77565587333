"""What an operator is told of an import. Ours, and outside the contract."""

from schemas.base import Answer
from schemas.http.parts import Count


class ImportedAnswer(Answer):
    """What was accepted; `kept`: documents that were there already, and stay as they are."""

    documents: Count
    memories: Count
    settings: Count
    kept: Count


class BlobAnswer(Answer):
    """A claim check that is stored."""

    sha256: str
    size: Count
