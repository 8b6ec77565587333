"""Log formats, and the input they must not contain."""

import json
import logging
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.runtime import correlation
from pipeline.runtime.log_format import JsonLinesFormatter, TextFormatter
from schemas.events import BlobRef

SECRET = "the diary of somebody"


def record(message: str, *args: object, **fields: Any) -> logging.LogRecord:
    log_record = logging.LogRecord("recollect.test", logging.WARNING, __file__, 1, message, args, None)
    if fields:
        log_record.fields = fields
    return log_record


@given(message=st.text(), value=st.text())
def test_a_json_record_is_one_line_that_can_be_parsed(message: str, value: str) -> None:
    text = JsonLinesFormatter().format(record("%s", message, stage=value))
    assert "\n" not in text
    line = json.loads(text)
    assert (line["message"], line["stage"]) == (message, value)
    assert (line["level"], line["logger"]) == ("warning", "recollect.test")
    assert datetime.fromisoformat(line["time"]).utcoffset() is not None


@pytest.mark.parametrize(
    ("formatter", "shows"),
    [
        (JsonLinesFormatter(), lambda text: json.loads(text)["request_id"]),
        (TextFormatter(), lambda text: text[-4:-1]),
    ],
)
def test_a_line_contains_its_request_id(formatter: logging.Formatter, shows: Callable[[str], str]) -> None:
    with correlation.correlation_scope(correlation.Correlation(default="r_1")):
        assert shows(formatter.format(record("a message"))) == "r_1"
    assert shows(formatter.format(record("a message", request_id="r_2"))) == "r_2"


@pytest.mark.parametrize("formatter", [JsonLinesFormatter(), TextFormatter()])
def test_a_traceback_does_not_contain_rejected_input(formatter: logging.Formatter) -> None:
    line = record("a stage fails")
    try:
        BlobRef.model_validate({"sha256": 1, "size": SECRET})
    except ValidationError:
        line.exc_info = sys.exc_info()
    text = formatter.format(line)
    assert SECRET not in text
    assert "sha256; size" in text
    assert __file__ in text
