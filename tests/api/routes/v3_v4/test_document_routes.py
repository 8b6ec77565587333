"""Bodies of v3 are bounded as those of v5, forms too."""

import pytest

from schemas.limits import MAX_FILEPATH_LENGTH
from tests.support.contract_client import ContractClient

pytestmark = pytest.mark.anyio

FILE = {"file": ("a.txt", b"Plain words.", "text/plain")}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("containerTag", "alice#1"),
        ("containerTag", ".."),
        ("containerTag", "a/b"),
        ("containerTag", "alice*"),
        ("containerTag", "a" * 101),
        ("containerTags", '["alice#1"]'),
        ("containerTags", "[1]"),
        ("containerTags", '[{"a": 1}]'),
        ("containerTags", "[" * 100_000),
        ("customId", "."),
        ("customId", ".."),
        ("customId", "a\nb"),
        ("customId", "x" * 256),
        ("filepath", "x" * (MAX_FILEPATH_LENGTH + 1)),
    ],
)
async def test_a_field_of_a_form_is_bounded_as_the_same_field_of_a_body(
    field: str, value: str, client: ContractClient
) -> None:
    fields = {"containerTag": (None, "alice")} | {field: (None, value)}
    response = await client("POST", "/v3/documents/file", files=FILE | fields)
    assert response.status_code == 400, response.text
    assert (await client.ok("GET", "/ns"))["namespaces"] == []


@pytest.mark.parametrize("tags", ['["alice"]', "alice", " alice ,", ""])
async def test_a_form_names_its_container_in_a_list_a_text_or_not_at_all(tags: str, client: ContractClient) -> None:
    response = await client("POST", "/v3/documents/file", files=FILE | {"containerTags": (None, tags)})
    assert response.status_code == 200, response.text
    (found,) = (await client.ok("GET", "/ns"))["namespaces"]
    assert found["namespace"] == ("alice" if tags else "default")


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v3/documents"), ("PATCH", "/v3/documents/a"), ("POST", "/v3/documents/batch")]
)
async def test_a_file_path_has_a_limit(method: str, path: str, client: ContractClient) -> None:
    body = {"content": "Plain words.", "documents": ["Plain words."], "filepath": "x" * (MAX_FILEPATH_LENGTH + 1)}
    await client.fails(400, method, path, body)


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ('{"AND": [{"key": "a", "key": "b", "value": "x"}]}', "the key 'key' occurs twice"),
        ('{"AND": [{"key": "a", "value": NaN}]}', "NaN is not a JSON number"),
        ("[" * 100_000, "nested too deeply"),
    ],
    ids=["repeated key", "NaN", "depth"],
)
async def test_a_filter_in_a_string_is_parsed_as_strictly_as_a_body(
    filters: str, reason: str, client: ContractClient
) -> None:
    await client.ok("POST", "/v3/documents", {"content": "Plain words.", "containerTag": "alice"})
    answer = await client.fails(400, "POST", "/v3/documents/list", {"containerTags": ["alice"], "filters": filters})
    assert reason in answer["details"]
