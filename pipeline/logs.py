"""How log lines look: plain for people, JSON for machines, both with the request they belong to."""

import json
import logging
import time
from typing import Any, Literal

from pydantic import ValidationError

from pipeline import tracing

Format = Literal["text", "json"]
TRAIL = logging.getLogger("recollect.trail")
"""A line per request and per record a stage handled. Always in JSON; in text at the level `debug` only."""


def configure(level: str, kind: Format) -> None:
    """Set up the process's logging, once, at its start."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if kind == "json" else Text())
    logging.basicConfig(level=level.upper(), handlers=[handler])
    for chatty in ("httpx2", "aiokafka", "mcp"):
        # A line for every call of an embedder, message of MCP or step of a rebalance helps no operator.
        logging.getLogger(chatty).setLevel(logging.WARNING)
    TRAIL.setLevel(logging.INFO if kind == "json" or level == "debug" else logging.WARNING)


def trail(message: str, **fields: Any) -> None:
    """One step of a request or an event; the fields are identifiers and figures, never contents."""
    TRAIL.info(message, extra={"fields": fields})


class Text(logging.Formatter):
    """Level, logger and message, and the request where one is known."""

    def __init__(self) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback below it."""
        request = _fields(record).get("request_id")
        text = super().format(record)
        return text if request is None else f"{text} [{request}]"

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name is logging's
        """The traceback without the input that a validation quotes."""
        return _traceback(self, ei)


class JsonLines(logging.Formatter):
    """An object per line: time (UTC), level, logger, message, request_id, then the fields of the line."""

    @staticmethod
    def converter(seconds: float | None) -> time.struct_time:
        """UTC."""
        return time.gmtime(seconds)

    def format(self, record: logging.LogRecord) -> str:
        """One line whatever the message holds."""
        line = {
            "time": f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name is logging's
        """The traceback without the input that a validation quotes."""
        return _traceback(self, ei)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = dict(getattr(record, "fields", {}))
    request = fields.pop("request_id", None) or tracing.request_id()
    return fields if request is None else {"request_id": request, **fields}


def _traceback(formatter: logging.Formatter, ei: Any) -> str:
    """As usual, but a validation error quotes what it refused, which may be somebody's text."""
    _, error, trace = ei
    if isinstance(error, ValidationError):
        places = "; ".join(".".join(map(str, fault["loc"])) for fault in error.errors(include_input=False))
        ei = (ValueError, ValueError(f"{error.title}: {places}").with_traceback(trace), trace)
    return logging.Formatter.formatException(formatter, ei)
