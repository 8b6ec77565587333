"""Error responses: every failure has the contract's shape and a clear message."""

import gzip
import json
from typing import Any

import pytest

from pipeline.errors import NotReadyError, OutageError
from pipeline.ports import Position
from schemas.limits import MAX_BODY_BYTES
from tests.api.conftest import ADMIN, Service
from tests.support.contract_client import ContractClient

pytestmark = pytest.mark.anyio

SEARCH = "/ns/alice/search"
LIST = "/ns/alice/list/documents"


def nested(depth: int) -> dict[str, Any]:
    """A filter of so many groups within each other."""
    expression: dict[str, Any] = {"field": "a", "operator": "eq", "value": 1}
    for _ in range(depth):
        expression = {"operator": "and", "operands": [expression]}
    return expression


def operands(count: int) -> dict[str, Any]:
    """A filter with so many operands."""
    return {
        "operator": "or",
        "operands": [{"field": "a", "operator": "eq", "value": n} for n in range(count)],
    }


BAD = {
    "a 601-document batch": ("POST", "/ns/alice/document/batch", {"documents": [{"content": "x"}] * 601}),
    "an empty batch": ("POST", "/ns/alice/document/batch", {"documents": []}),
    "a 101-character namespace": ("POST", f"/ns/{'n' * 101}/document", {"content": "x"}),
    "a namespace with a space": ("POST", "/ns/a%20b/document", {"content": "x"}),
    "a namespace with a line end": ("GET", "/ns/a%0A", None),
    "a 256-character id": ("POST", "/ns/alice/document", {"content": "x", "id": "i" * 256}),
    "an empty id": ("POST", "/ns/alice/document", {"content": "x", "id": ""}),
    "an unknown field": ("POST", "/ns/alice/document", {"content": "x", "customId": "y"}),
    "no content": ("POST", "/ns/alice/document", {"id": "x"}),
    "a number for content": ("POST", "/ns/alice/document", {"content": 1}),
    "nested metadata": ("POST", "/ns/alice/document", {"content": "x", "metadata": {"a": {"b": 1}}}),
    "a list of numbers as metadata": ("POST", "/ns/alice/document", {"content": "x", "metadata": {"a": [1]}}),
    "a NUL in metadata": ("POST", "/ns/alice/document", {"content": "x", "metadata": {"a": "\x00"}}),
    "a NUL in a key": ("POST", "/ns/alice/document", {"content": "x", "metadata": {"\x00": "a"}}),
    "too much metadata": ("POST", "/ns/alice/document", {"content": "x", "metadata": {"a": "x" * 70_000}}),
    "a 1501-character context": (
        "POST", "/ns/alice/document", {"content": "x", "supportingContext": "x" * 1501},
    ),
    "a NUL in a query": ("POST", SEARCH, {"query": "a\x00b"}),
    "an empty query": ("POST", SEARCH, {"query": ""}),
    "a limit of 101": ("POST", SEARCH, {"query": "x", "limit": 101}),
    "a limit in quotes": ("POST", SEARCH, {"query": "x", "limit": "10"}),
    "a limit of true": ("POST", SEARCH, {"query": "x", "limit": True}),
    "a threshold of 2": ("POST", SEARCH, {"query": "x", "threshold": 2}),
    "an unknown mode": ("POST", SEARCH, {"query": "x", "searchMode": "documents"}),
    "an old option": ("POST", SEARCH, {"query": "x", "filters": {}}),
    "6-deep filters": ("POST", SEARCH, {"query": "x", "filter": nested(6)}),
    "201 operands": ("POST", SEARCH, {"query": "x", "filter": operands(201)}),
    "no operands": ("POST", LIST, {"filter": operands(0)}),
    "a filter of the old shape": ("POST", LIST, {"filter": {"AND": [{"key": "a", "value": "b"}]}}),
    "a filter on a strange field": ("POST", LIST, {"filter": {"field": "a b", "operator": "eq", "value": 1}}),
    "a comparison with a string": ("POST", LIST, {"filter": {"field": "a", "operator": "gt", "value": "1"}}),
    "contains with a number": ("POST", LIST, {"filter": {"field": "a", "operator": "contains", "value": 1}}),
    "an unknown operator": ("POST", LIST, {"filter": {"field": "a", "operator": "like", "value": "x"}}),
    "a filter that is a list": ("POST", LIST, {"filter": []}),
    "a case-insensitive number": (
        "POST", LIST, {"filter": {"field": "a", "operator": "eq", "value": 1, "caseSensitive": False}},
    ),
    "page 0": ("POST", f"{LIST}?page=0", None),
    "an unknown list": ("POST", "/ns/alice/list/profiles", None),
    "documents sorted by position": ("POST", f"{LIST}?sort=position", None),
    "an unknown include": ("GET", "/ns/alice/document/x?include=everything", None),
    "101 ids": ("DELETE", "/ns/alice/document", {"ids": ["x"] * 101}),
    "501 memories": ("DELETE", "/ns/alice/memories", {"ids": ["x"] * 501}),
    "a dry run left open": ("DELETE", "/ns/alice/memories/semantic", {"query": "x"}),
    "a bucket called static": ("PUT", "/ns/alice/profile/buckets", {"buckets": {"static": "x"}}),
    "a bucket in capitals": ("PUT", "/ns/alice/profile/buckets", {"buckets": {"Work": "x"}}),
    "no buckets": ("PUT", "/ns/alice/profile/buckets", {"buckets": {}}),
    "51 buckets": ("PUT", "/ns/alice/profile/buckets", {"buckets": {f"b{n}": "" for n in range(51)}}),
    "an empty organizational context": ("PATCH", "/organization", {"organizationalContext": ""}),
    "no organizational context": ("PATCH", "/organization", {}),
    "an empty change of a namespace": ("PATCH", "/ns/alice", {}),
    "a move to nowhere": ("DELETE", "/ns/alice?moveTo=a%20b", None),
    "a search option in the query": ("POST", f"{SEARCH}?limit=3", {"query": "x"}),
    "a list option in the body": ("POST", LIST, {"limit": 3}),
    "an include in the query of a list": ("POST", f"{LIST}?include=content", None),
    "a body where there is none": ("GET", "/ns/alice", {"include": ["x"]}),
    "an unknown provider": ("POST", "/ns/alice/connectors", {"provider": "dropbox"}),
    "a crawler without a URL": ("POST", "/ns/alice/connectors", {"provider": "web-crawler", "config": {}}),
    "an address that is none": (
        "POST", "/feedback", {"type": "bug", "title": "t", "description": "d", "contactEmail": "nobody"},
    ),
}  # fmt: skip


async def test_a_bad_request_is_refused_with_a_reason_and_the_next_one_works(client: ContractClient) -> None:
    for name, (method, path, body) in BAD.items():
        refused = await client.fails(400, method, path, body)
        assert refused["error"], name
        await client.ok("GET", "/organization")


async def test_a_refused_time_or_month_is_answered_with_an_example(client: ContractClient) -> None:
    for path, body in (
        ("/ns/alice/explain/search", {"query": "x", "asOf": "tomorrow"}),
        ("/ns/alice/explain/search", {"query": "x", "asOf": "2026-03-01"}),
        ("/ns/alice/explain/memories?since=yesterday", None),
    ):
        refused = await client.fails(400, "POST" if body else "GET", path, body)
        assert "a time with its zone, like 2026-11-30T09:30:00Z" in refused["error"][0]["message"]
    refused = await client.fails(400, "GET", "/admin/usage?month=2026")
    assert refused["error"][0]["message"] == "month: must be a month, like 2026-11"
    refused = await client.fails(400, "POST", "/ns/alice/document", {"content": "x", "date": "9999-12-31"})
    assert "years 0002 to 9998" in refused["error"][0]["message"]


async def test_a_refused_name_is_answered_with_the_characters_that_it_may_have(client: ContractClient) -> None:
    refused = await client.fails(400, "POST", "/admin/keys", {"name": "x", "role": "read", "namespaces": ["a b"]})
    assert "letters, digits, '_', ':' and '-' only, and a '*' at its end" in refused["error"][0]["message"]
    refused = await client.fails(400, "POST", LIST, {"filter": {"field": "a b", "operator": "eq", "value": 1}})
    assert refused["error"][0]["message"] == "filter: field: may have letters, digits, '_', '.' and '-' only"


RAW = {
    "invalid UTF-8": b'{"content": "\xff\xfe"}',
    "half a body": b'{"content": "x"',
    "no JSON": b"content=x",
    "NaN": b'{"content": "x", "metadata": {"a": NaN}}',
    "a number beyond all": b'{"content": "x", "metadata": {"a": 1e999}}',
    "a very long number": b'{"content": "x", "metadata": {"a": ' + b"9" * 5000 + b"}}",
    "endless nesting": b'{"content": ' + b"[" * 100_000,
    "half a surrogate pair": b'{"content": "\\ud800"}',
    "half a surrogate pair in a key": b'{"content": "x", "metadata": {"\\ud800": "a"}}',
    "half a surrogate pair as a field": b'{"content": "x", "\\ud800": "a"}',
    "a string": b'"content"',
    "null": b"null",
    "nothing": b"",
    "UTF-16": json.dumps({"content": "x"}).encode("utf-16"),
}


async def test_a_body_that_is_no_json_object_is_refused(client: ContractClient) -> None:
    headers = {"content-type": "application/json"}
    for name, content in RAW.items():
        response = await client("POST", "/ns/alice/document", content=content, headers=headers)
        assert response.status_code == 400, f"{name}: {response.text}"
        await client.ok("GET", "/organization")


async def test_a_validation_error_leads_to_the_place(client: ContractClient) -> None:
    body = {"documents": [{"content": "x"}, {"content": 5, "more": 1}]}
    refused = await client.fails(400, "POST", "/ns/alice/document/batch", body)
    assert refused["success"] is False
    assert [problem["path"] for problem in refused["error"]] == [
        ["documents", 1, "content"],
        ["documents", 1, "more"],
    ]


async def test_a_path_does_not_name_members_of_unions(client: ContractClient) -> None:
    body = {"provider": "web-crawler", "config": {"startUrl": "no"}}
    refused = await client.fails(400, "POST", "/ns/alice/connectors", body)
    assert [problem["path"] for problem in refused["error"]] == [["config", "startUrl"]]


@pytest.mark.parametrize(
    ("expression", "path", "message"),
    [
        ({"field": "a", "operator": "gt", "value": "1"}, ["value"], "must be a number"),
        (
            {"field": "a", "operator": "eq", "value": [1]},
            ["value"],
            "must be a string, a number or a boolean",
        ),
        ({"field": "a", "operator": "contains", "value": 1}, ["value"], "must be a string"),
        ({"field": "a", "operator": "eq", "value": None}, ["value"], "is required"),
        (
            {
                "operator": "and",
                "operands": [{"field": "a", "operator": "lt", "value": 1}, {"operator": "is"}],
            },
            ["operands", 1, "operator"],
            "must be one of eq",
        ),
    ],
)
async def test_a_filter_that_is_wrong_is_told_where_and_in_plain_words(
    client: ContractClient, expression: dict[str, Any], path: list[str | int], message: str
) -> None:
    ((problem),) = (await client.fails(400, "POST", LIST, {"filter": expression}))["error"]
    assert problem["path"] == ["filter", *path]
    assert problem["message"].startswith(f"filter: {'.'.join(map(str, path))}: {message}")


async def test_a_text_that_is_too_short_or_too_long_is_told_in_characters(client: ContractClient) -> None:
    ((short),) = (await client.fails(400, "POST", SEARCH, {"query": ""}))["error"]
    assert short["message"] == "query: must not be empty"
    ((long),) = (await client.fails(400, "POST", "/ns/a/document", {"content": "x", "id": "x" * 256}))["error"]
    assert long["message"] == "id: must have at most 255 characters, not 256"


@pytest.mark.parametrize(("body", "message"), [({}, "is required"), ({"provider": "ftp"}, "must be one of")])
async def test_a_provider_that_is_none_is_told_as_such(
    client: ContractClient, body: dict[str, str], message: str
) -> None:
    ((problem),) = (await client.fails(400, "POST", "/ns/alice/connectors", body))["error"]
    assert problem["path"] == ["provider"]
    assert problem["message"].startswith(f"provider: {message}")


async def test_a_bad_bucket_name_is_told_by_its_name(client: ContractClient) -> None:
    refused = await client.fails(400, "PUT", "/ns/alice/profile/buckets", {"buckets": {"Work": "x"}})
    assert [problem["path"] for problem in refused["error"]] == [["buckets", "Work"]]


async def test_an_id_that_no_path_can_hold_is_refused(client: ContractClient) -> None:
    await client.fails(400, "POST", "/ns/alice/document", {"content": "x", "id": "a\nb"})


async def test_what_is_not_found_is_named_as_it_was_written(client: ContractClient) -> None:
    refused = await client.fails(404, "GET", "/ns/alice/document/メモ")
    assert "'メモ'" in refused["details"]


async def test_a_compressed_body_is_refused_with_the_reason(client: ContractClient) -> None:
    response = await client(
        "POST", SEARCH, content=gzip.compress(b'{"query": "x"}'), headers={"content-encoding": "gzip"}
    )
    assert response.status_code == 400
    assert "Content-Encoding" in response.json()["details"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/ns/alice", "GET, PATCH, DELETE"),
        ("GET", "/ns/alice/document", "POST, DELETE"),
        ("POST", "/ns/alice/document/x", "GET, PATCH"),
        ("HEAD", "/ns/alice/profile/buckets", "GET, PUT, DELETE"),
        ("GET", "/ns/alice/search", "POST"),
    ],
)
async def test_a_method_that_a_path_has_not_is_answered_with_those_it_has(
    client: ContractClient, method: str, path: str, allowed: str
) -> None:
    response = await client(method, path)
    assert (response.status_code, response.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize(
    ("method", "path", "advice"),
    [
        ("POST", "/ns/alice/search/", "Did you mean POST /ns/alice/search?"),
        ("POST", "/ns/alice/document/", "Did you mean POST /ns/alice/document?"),
        ("POST", "/v5/ns/alice/search", "Did you mean POST /ns/alice/search?"),
        ("POST", "/docs/ns/alice/search", "Did you mean POST /ns/alice/search?"),
        ("GET", "/ns/alice//document/x", "Did you mean GET /ns/alice/document/x?"),
        ("POST", "/ns//search", "A part of its path is empty."),
        ("GET", "/ns/alice/search", "This path takes POST."),
        ("GET", "/api/v1/memories", "/docs/ lists all operations."),
        ("GET", "/" + "a/" * 20_000, "/docs/ lists all operations."),
    ],
)
async def test_what_is_no_operation_is_answered_with_what_may_be_meant(
    client: ContractClient, method: str, path: str, advice: str
) -> None:
    response = await client(method, path)
    assert response.status_code in (404, 405)
    assert response.json()["details"].endswith(f"{path}. {advice}")


async def test_a_preflight_is_answered_with_the_setting_that_allows_it(client: ContractClient) -> None:
    asked = {"origin": "https://app.example", "access-control-request-method": "POST"}
    response = await client("OPTIONS", SEARCH, headers=asked)
    assert response.status_code == 405
    assert "RECOLLECT_CORS_ORIGINS" in response.json()["details"]


async def test_too_large_a_body_is_answered_with_the_limit(client: ContractClient) -> None:
    response = await client("POST", SEARCH, content=b" " * (MAX_BODY_BYTES + 1))
    assert response.status_code == 413
    assert "2 MiB" in response.json()["details"]


@pytest.mark.parametrize("sent", ["", "Bearer ", "{key}", "Basic {key}", "Token {key}"])
async def test_a_header_without_a_bearer_key_is_answered_with_how_it_is_sent(client: ContractClient, sent: str) -> None:
    response = await client("GET", "/organization", headers={"authorization": sent.format(key=ADMIN)})
    assert response.status_code == 401
    assert "`Authorization: Bearer <key>`" in response.json()["details"]


async def test_an_unknown_field_is_answered_with_the_known_ones(client: ContractClient) -> None:
    refused = await client.fails(400, "POST", "/ns/alice/profile", {"query": "x"})
    assert [problem["message"] for problem in refused["error"]] == [
        "query: is not a known field",
        "body: its fields are filter, buckets",
    ]


async def test_an_option_of_the_body_in_the_query_is_answered_with_the_fields_of_the_body(
    client: ContractClient,
) -> None:
    refused = await client.fails(400, "POST", f"{SEARCH}?limit=3", {"query": "x"})
    assert refused["error"][0]["message"] == "limit: is not a parameter of this operation"
    assert refused["error"][1]["message"].startswith("body: its fields are query, filter, searchMode, limit")


@pytest.mark.parametrize(
    ("method", "path", "body", "message"),
    [
        ("PUT", "/ns/alice/profile/buckets", {"buckets": ["work"]}, "buckets: must be an object"),
        ("DELETE", "/ns/alice/document", {"ids": "x"}, "ids: must be an array"),
        ("POST", SEARCH, {"query": "x", "limit": 101}, "limit: must be less than or equal to 100"),
        ("POST", "/ns/alice/document", {"content": 1}, "content: must be a valid string"),
    ],
)
async def test_a_wrong_value_is_answered_in_the_words_of_json(
    client: ContractClient, method: str, path: str, body: dict[str, Any], message: str
) -> None:
    ((problem),) = (await client.fails(400, method, path, body))["error"]
    assert problem["message"] == message


async def test_a_byte_order_mark_before_json_is_passed_over(client: ContractClient) -> None:
    response = await client("POST", "/ns/alice/document", content=b'\xef\xbb\xbf{"content": "x"}')
    assert response.status_code == 200


async def test_a_body_without_a_content_type_is_taken_for_json(client: ContractClient) -> None:
    response = await client("POST", "/ns/alice/document", content=b'{"content": "x"}')
    assert response.status_code == 200


async def test_what_is_not_there_is_not_found_and_what_is_not_done_is_not_allowed(
    client: ContractClient,
) -> None:
    for method, path, status in (
        ("GET", "/nowhere", 404),
        ("PUT", "/organization", 405),
        ("GET", "/ns/", 404),
    ):
        response = await client(method, path)
        assert response.status_code == status
        assert response.json()["error"]


async def test_every_answer_has_the_callers_request_id_or_one_of_ours(client: ContractClient) -> None:
    given = await client("GET", "/organization", headers={"x-request-id": "trace-1"})
    assert given.headers["x-request-id"] == "trace-1"
    strange = await client("GET", "/organization", headers={"x-request-id": "a b"})
    assert strange.headers["x-request-id"].startswith("req_")


async def test_what_may_work_later_is_answered_503_with_the_time_to_come_back(
    service: Service, client: ContractClient
) -> None:
    async def away(*_: object) -> list[Position]:
        raise OutageError("the log is away")

    service.bus.publish = away  # type: ignore[method-assign,assignment]  # as while Kafka restarts
    response = await client("POST", "/ns/alice/document", {"content": "x"})
    assert response.status_code == 503
    assert int(response.headers["retry-after"]) > 0


async def test_what_is_being_made_is_answered_503_and_says_what_it_is(service: Service, client: ContractClient) -> None:
    async def reading(*_: object) -> list[Position]:
        raise NotReadyError("It is being read.", 7)

    service.bus.publish = reading  # type: ignore[method-assign,assignment]  # as the first profile of a large namespace
    response = await client("POST", "/ns/alice/document", {"content": "x"})
    assert (response.status_code, response.headers["retry-after"]) == (503, "7")
    assert response.json() == {"error": "Not ready yet", "details": "It is being read."}


async def test_the_unexpected_is_logged_and_tells_nothing_but_its_id(
    service: Service, client: ContractClient, caplog: pytest.LogCaptureFixture
) -> None:
    await client.ok("POST", "/ns/alice/document", {"content": "x"})

    def broken(_incarnations: object) -> dict[str, int]:
        raise ZeroDivisionError("a secret")

    service.store.documents.count_by_incarnation = broken  # type: ignore[method-assign,assignment]  # what can't happen
    refused = await client.fails(500, "GET", "/ns")
    assert "secret" not in json.dumps(refused)
    assert "req_" in refused["details"]
    assert "a secret" in caplog.text
    await client.ok("GET", "/organization")
