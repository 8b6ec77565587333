"""What a log line looks like, and what it does not tell."""

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

from pipeline import tracing
from pipeline.logs import JsonLines, Text
from schemas.events import BlobRef

SECRET = "the diary of somebody"


def record(message: str, *args: object, **fields: Any) -> logging.LogRecord:
    made = logging.LogRecord("recollect.test", logging.WARNING, __file__, 1, message, args, None)
    if fields:
        made.fields = fields
    return made


@given(message=st.text(), value=st.text())
def test_a_json_line_is_one_line_that_can_be_read_back(message: str, value: str) -> None:
    text = JsonLines().format(record("%s", message, stage=value))
    assert "\n" not in text
    line = json.loads(text)
    assert (line["message"], line["stage"]) == (message, value)
    assert (line["level"], line["logger"]) == ("warning", "recollect.test")
    assert datetime.fromisoformat(line["time"]).utcoffset() is not None


@pytest.mark.parametrize(
    ("formatter", "shows"),
    [(JsonLines(), lambda text: json.loads(text)["request_id"]), (Text(), lambda text: text[-4:-1])],
)
def test_a_line_says_the_request_it_belongs_to(
    formatter: logging.Formatter, shows: Callable[[str], str]
) -> None:
    with tracing.within(tracing.Origins(all="r_1")):
        assert shows(formatter.format(record("parked"))) == "r_1"
    assert shows(formatter.format(record("parked", request_id="r_2"))) == "r_2"


@pytest.mark.parametrize("formatter", [JsonLines(), Text()])
def test_a_traceback_does_not_quote_what_was_refused(formatter: logging.Formatter) -> None:
    line = record("a stage fails")
    try:
        BlobRef.model_validate({"sha256": 1, "size": SECRET})
    except ValidationError:
        line.exc_info = sys.exc_info()
    text = formatter.format(line)
    assert SECRET not in text
    assert "sha256; size" in text
    assert __file__ in text
