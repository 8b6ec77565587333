"""Classification and description of the errors that stages raise."""

import errno
import traceback
from pathlib import Path

from pydantic import ValidationError

from pipeline.bus.records import DeserializationError
from pipeline.errors import OutageError, RejectedError, RetryableError, reason_of

MAX_ERROR_CHARS = 2000
_OUTAGE_ERRNOS = frozenset(
    {
        errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO,
        errno.EMFILE, errno.ENFILE, errno.ENOMEM,
    }
)  # fmt: skip
"""Errors of a full or read-only disk, or of exhausted resources, which don't depend on the record."""


def error_message(error: Exception) -> str:
    """Describe an error for the operator, in at most MAX_ERROR_CHARS characters, without input of users."""
    if isinstance(error, ValidationError):
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        text = "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'value'}: {fault['msg']}" for fault in faults)
    elif isinstance(error, RejectedError | RetryableError | DeserializationError):
        text = reason_of(error)
    else:
        text = error_with_call_chain(error)
    # The message becomes a header, which must be valid UTF-8.
    return text[:MAX_ERROR_CHARS].encode(errors="backslashreplace").decode()


def error_with_call_chain(error: Exception) -> str:
    """Describe an unexpected error with its innermost calls, the last one first."""
    calls = reversed(traceback.extract_tb(error.__traceback__)[-6:])
    places = " < ".join(f"{call.name} ({Path(call.filename).name}:{call.lineno})" for call in calls)
    return f"{type(error).__name__}: {error} [{places}]"


def reason_for_users(error: Exception) -> str:
    """Describe an error for the owner of the document."""
    if isinstance(error, RejectedError | RetryableError):
        return error_message(error)
    return (
        f"An unexpected error of the service ({type(error).__name__}). The operator can find it among the dead"
        " letters and retry it with `recollect dlq redrive`."
    )


def is_outage(error: Exception) -> bool:
    """Tell whether an error affects every record, such as a full disk."""
    return isinstance(error, OutageError) or (isinstance(error, OSError) and error.errno in _OUTAGE_ERRNOS)
