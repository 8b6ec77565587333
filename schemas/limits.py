"""Limits of the API. Source: the v5 contract unless a comment says otherwise."""

NAMESPACE_PATTERN = r"^[a-zA-Z0-9_:-]+$"
NAMESPACE_SCOPE_PATTERN = r"^[a-zA-Z0-9_:-]*\*?$"
MAX_NAMESPACE_LENGTH = 100
MAX_DOCUMENT_ID_LENGTH = 255
MAX_SUPPORTING_CONTEXT_LENGTH = 1500
MAX_BATCH_DOCUMENTS = 600
MAX_DOCUMENT_IDS = 100
MAX_FORGET_IDS = 500
MAX_FORGET_QUERY_LENGTH = 2000
MAX_PAGE_SIZE = 100
MAX_SAFE_INTEGER = 2**53 - 1
MAX_SEARCH_RESULTS = 100
MAX_RELATED_MEMORIES = 100
MAX_FILTER_OPERANDS = 200
MAX_FILTER_DEPTH = 5
FILTER_FIELD_PATTERN = r"^[a-zA-Z0-9_.-]+$"
MONTH_PATTERN = r"^\d{4}-(0[1-9]|1[0-2])$"
MAX_BUCKETS = 50
BUCKET_PATTERN = r"^[a-z0-9][a-z0-9_-]*$"
MAX_BUCKET_NAME_LENGTH = 64
MAX_BUCKET_DESCRIPTION_LENGTH = 2000

MAX_CONNECTOR_DOCUMENTS = 10_000
MAX_CONNECTOR_TEXT_LENGTH = 2048
"""Characters of an address, a name or a key in a connector's options, and of an id that it selects."""
MAX_SYNCS_SHOWN = 10

# Limits that the contract does not define.
MAX_CONTENT_BYTES = 10 * 1024 * 1024
MAX_FILE_BYTES = 50 * 1024 * 1024
MAX_INGEST_BODY_BYTES = 64 * 1024 * 1024
"""Largest body of an ingest request: a batch of 600 documents of 100 KB fits."""
MAX_BODY_BYTES = 2 * 1024 * 1024
"""Largest body of all other requests."""
MAX_ANONYMOUS_BODY_BYTES = 128 * 1024
"""Largest body of an operation that needs no key."""
MAX_JSON_VALUES = 250_000
"""Values of one JSON body, of 600 documents with 400 metadata values each."""
MAX_REQUESTS_PER_MINUTE = 1_000_000
MAX_MONTHLY_QUOTA = 10**12
MAX_MONTHLY_BUDGET = 10**15
"""Bytes or tokens."""
MAX_FILEPATH_LENGTH = 4096
"""Characters of a document's file path in v3, which becomes metadata."""
MAX_METADATA_CHARS = 64 * 1024
"""Characters of all keys and values of one metadata object; each value, also in a list, counts one more."""
MAX_TEXT_CHARS = 10 * 1024 * 1024
"""The longest canonical text of one document."""
MAX_FETCH_BYTES = 10 * 1024 * 1024
FETCH_TIMEOUT_SECONDS = 20.0
MAX_INLINE_BYTES = 256 * 1024
"""Larger event values become claim checks: the blob is stored first, the event has its hash."""
MAX_QUESTIONS = 50
"""Standing questions of one namespace."""
MAX_QUESTION_LENGTH = 1000
MAX_WEBHOOK_URL_LENGTH = 2048
