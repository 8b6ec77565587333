"""Log formats: plain text, or JSON lines; both with the request id."""

import json
import logging
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal

from pydantic import ValidationError

from pipeline.runtime import correlation
from schemas.base import format_timestamp

Format = Literal["text", "json"]
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
ACCESS_LOGGER = logging.getLogger("recollect.access")
"""Logger with one line per request and per handled record. On in JSON, and in text at level `debug`."""


def configure_logging(level: str, log_format: Format) -> None:
    """Set up logging for the process; call once at its start."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLinesFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler])
    for chatty in ("httpx2", "aiokafka", "mcp"):
        # These log every embedder call, MCP message and rebalance step, which helps no operator.
        logging.getLogger(chatty).setLevel(logging.WARNING)
    ACCESS_LOGGER.setLevel(logging.INFO if log_format == "json" or level == "debug" else logging.WARNING)


def access_log(message: str, **fields: Any) -> None:
    """Log one step of a request or event. Fields are identifiers and figures, never contents."""
    ACCESS_LOGGER.info(message, extra={"fields": fields})


class _RedactingFormatter(logging.Formatter):
    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name is logging's
        """Return the traceback without the input that a validation error quotes, which may be private."""
        _, error, trace = ei
        if isinstance(error, ValidationError):
            places = "; ".join(".".join(map(str, fault["loc"])) for fault in error.errors(include_input=False))
            ei = (ValueError, ValueError(f"{error.title}: {places}").with_traceback(trace), trace)
        return super().formatException(ei)


class TextFormatter(_RedactingFormatter):
    """Formatter of plain text: level, logger, message, request id if known."""

    def __init__(self) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, with the traceback below it."""
        request = _fields(record).get("request_id")
        text = super().format(record)
        return text if request is None else f"{text} [{request}]"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        """Return the line, which no id or message of others ends, and which steers no terminal."""
        return super().formatMessage(record).translate(_CONTROLS)


class JsonLinesFormatter(_RedactingFormatter):
    """Formatter of JSON lines: time (UTC), level, logger, message, request_id, then the record's fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, whatever the message contains."""
        line = {
            "time": format_timestamp(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def trace_of(error: Exception) -> tuple[type[Exception], Exception, TracebackType | None]:
    """Return `exc_info` of an error without its message, which may hold data of a provider, or credentials."""
    return RuntimeError, RuntimeError(type(error).__name__), error.__traceback__


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = dict(getattr(record, "fields", {}))
    request = fields.pop("request_id", None) or correlation.current_request_id()
    return fields if request is None else {"request_id": request, **fields}
