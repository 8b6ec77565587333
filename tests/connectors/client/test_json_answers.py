"""Answers that are something other than what a provider describes say nothing about what there is."""

import json
from typing import Any

import httpx2
import pytest

from connectors.client.json_answers import PageTrail, Shape, conforming, json_list, json_object, json_page
from connectors.errors import CursorExpiredError, ProviderUnavailableError


def _answer(body: Any) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx2.Response(200, content=content, request=httpx2.Request("GET", "https://api.test/v1/files"))


@pytest.mark.parametrize("body", [None, [], "text", 7, b"", b"<html>", {}, {"files": None}])
def test_an_answer_without_its_field_is_no_answer(body: Any) -> None:
    with pytest.raises(ProviderUnavailableError, match=r"api\.test sent"):
        json_object(_answer(body), "files")


@pytest.mark.parametrize("files", [{}, "text", 7, [None], ["text"], [{}, []]])
def test_a_page_whose_list_holds_something_else_is_no_page(files: Any) -> None:
    with pytest.raises(ProviderUnavailableError, match="other than it describes for /v1/files"):
        json_page(_answer({"files": files}), "files")


def test_a_page_is_its_list_and_what_it_says_of_the_next() -> None:
    listed, answer = json_page(_answer({"files": [{"id": "1"}], "nextPageToken": "t"}), "files")
    assert (listed, answer["nextPageToken"]) == ([{"id": "1"}], "t")
    assert json_list(_answer([])) == []


def test_a_list_that_leads_back_to_a_page_ends() -> None:
    trail = PageTrail("Drive")
    assert [trail.follow(page) for page in ("a", "b", None)] == ["a", "b", None]
    with pytest.raises(ProviderUnavailableError, match="Drive leads back"):
        trail.follow("a")


def test_a_feed_that_leads_back_is_read_anew() -> None:
    trail = PageTrail("Drive", CursorExpiredError)
    trail.follow("a")
    with pytest.raises(CursorExpiredError):
        trail.follow("a")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"id": "1", "size": 3, "new": [1]}, {"id": "1", "size": 3, "new": [1]}),
        ({"id": "1", "size": "three", "parents": None}, {"id": "1"}),
        ({"id": "1", "parents": ["a", 7, None]}, {"id": "1", "parents": ["a"]}),
        ({"id": "1", "file": {"type": 7, "name": "n"}}, {"id": "1", "file": {"name": "n"}}),
        ({"id": "1", "file": []}, {"id": "1"}),
        ("text", None),
    ],
)
def test_a_value_of_another_type_than_described_counts_as_missing(value: Any, found: Any) -> None:
    shape: Shape = {"id": str, "size": int, "parents": [str], "file": {"type": str}}
    assert conforming(value, shape) == found
