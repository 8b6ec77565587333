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
from pipeline.runtime.log_format import JsonLinesFormatter, TextFormatter, trace_of
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


@given(message=st.text())
def test_a_record_of_plain_text_is_one_line_whatever_it_quotes(message: str) -> None:
    text = TextFormatter().format(record("%s", message))
    assert text.startswith("WARNING recollect.test: ")
    assert not any(code < 32 or 127 <= code < 160 for code in map(ord, text))


def test_a_quoted_line_end_and_escape_are_shown() -> None:
    text = TextFormatter().format(record("Document %s failed", "a\nERROR forged\x1b[2J\tÄ"))
    assert text == "WARNING recollect.test: Document a\\x0aERROR forged\\x1b[2J\\x09Ä failed"


@pytest.mark.parametrize("formatter", [JsonLinesFormatter(), TextFormatter()])
def test_a_trace_names_the_error_and_the_code_and_not_what_it_says(formatter: logging.Formatter) -> None:
    line = record("a run fails")
    try:
        dict[str, str]()[SECRET]
    except KeyError as error:
        line.exc_info = trace_of(error)
    text = formatter.format(line)
    assert SECRET not in text
    assert "RuntimeError: KeyError" in text
    assert __file__ in text


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
