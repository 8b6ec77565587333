"""Every number of the interface, once. Source: the v5 contract unless a line says otherwise."""

NAMESPACE_PATTERN = r"^[a-zA-Z0-9_:-]+$"
NAMESPACE_LENGTH = 100
DOCUMENT_ID_LENGTH = 255
SUPPORTING_CONTEXT_LENGTH = 1500
BATCH_DOCUMENTS = 600
DELETE_DOCUMENTS = 100
FORGET_MEMORIES = 500
FORGET_QUERY_LENGTH = 2000
PAGE_LIMIT = 100
PAGE_MAXIMUM = 2**53 - 1
SEARCH_LIMIT = 100
RELATED_LIMIT = 100
FILTER_OPERANDS = 200
FILTER_DEPTH = 5
FILTER_FIELD_PATTERN = r"^[a-zA-Z0-9_.-]+$"
BUCKETS = 50
BUCKET_PATTERN = r"^[a-z0-9][a-z0-9_-]*$"
BUCKET_NAME_LENGTH = 64
BUCKET_DESCRIPTION_LENGTH = 2000

CONNECTOR_DOCUMENTS = 10_000
SYNCS = 10

# Ours, where the contract names no number.
CONTENT_BYTES = 10 * 1024 * 1024
FILE_BYTES = 50 * 1024 * 1024
JSON_BYTES = 64 * 1024 * 1024
"""The largest JSON body, so that a batch of 600 documents of 100 KB fits."""
QUESTION_BYTES = 2 * 1024 * 1024
"""The largest body of every other request."""
RATE = 1_000_000
"""The highest limit of requests a minute."""
QUOTA = 10**12
"""The highest quota of a month."""
METADATA_BYTES = 64 * 1024
"""Characters of all keys and values of one metadata object."""
TEXT_CHARACTERS = 10 * 1024 * 1024
"""The longest canonical text of one document."""
FETCH_BYTES = 10 * 1024 * 1024
FETCH_SECONDS = 20.0
INLINE_BYTES = 256 * 1024
"""Event values above this are claim checks: the blob is stored first, the event carries its hash."""
