"""Memory as a model uses it: the tools, resources and the prompt of MCP on a service that runs."""

from collections.abc import AsyncIterator

import httpx2
import jsonschema_rs
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent, TextResourceContents

from tests.support.mcp_client import call_tool, call_tool_text, connected
from tests.support.service_world import ADMIN, RunningService

pytestmark = pytest.mark.anyio

DIARY = "Ada lives in Lisbon. Ada plays the cello. Ada's dog is called Toby."


@pytest.fixture(params=["auto", "legacy"])
async def model(request: pytest.FixtureRequest, service: RunningService) -> AsyncIterator[Client]:
    """A client of today's protocol, and one that begins with a handshake."""
    async with _http(service, ADMIN) as http, connected(http, request.param) as client:
        yield client


def _http(service: RunningService, key: str, **headers: str) -> httpx2.AsyncClient:
    given = {"authorization": f"Bearer {key}", **headers}
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(service.app), base_url="http://test", headers=given)


async def _diary(service: RunningService, ns: str) -> None:
    await service.add_document(ns, DIARY, id="diary/1", metadata={"kind": "diary"})
    await service.wait_idle()


async def test_what_is_added_is_found_with_its_source_and_read_in_parts(
    service: RunningService, model: Client, ns: str
) -> None:
    added = await call_tool(model, "add_memory", namespace=ns, content=DIARY, id="diary/1", metadata={"kind": "diary"})
    assert (added["namespace"], added["id"]) == (ns, "diary/1")
    await service.wait_idle()
    found = await call_tool(model, "search_memory", namespace=ns, query="Where does she live?")
    assert "Lisbon" in found["results"][0]["text"]
    assert found["results"][0]["source"]["id"] == "diary/1"
    assert {result["kind"] for result in found["results"]} == {"memory", "passage"}
    first = await call_tool(model, "get_document", namespace=ns, id="diary/1", length=20)
    assert (first["content"], first["nextOffset"]) == (DIARY[:20], 20)
    assert any("Lisbon" in memory["memory"] for memory in first["memories"])
    rest = await call_tool(model, "get_document", namespace=ns, id="diary/1", offset=20)
    assert (rest["content"], rest["nextOffset"], rest["memories"]) == (DIARY[20:], None, [])


async def test_a_filter_and_a_mode_hold(service: RunningService, model: Client, ns: str) -> None:
    await _diary(service, ns)
    other = {"operator": "neq", "field": "kind", "value": "diary"}
    assert await call_tool_text(model, "search_memory", namespace=ns, query="Lisbon", filter=other) == (
        f"Nothing in {ns} answers this."
    )
    facts = await call_tool(model, "search_memory", namespace=ns, query="Lisbon", mode="memories")
    assert {result["kind"] for result in facts["results"]} == {"memory"}


async def test_forgetting_shows_first_and_takes_only_what_was_shown(
    service: RunningService, model: Client, ns: str
) -> None:
    await _diary(service, ns)
    shown = await call_tool(model, "forget_memory", namespace=ns, query="the dog")
    assert [match["memory"] for match in shown["matches"]] == ["Ada's dog is called Toby"]
    assert not shown["forgotten"]
    refused = await call_tool_text(model, "forget_memory", namespace=ns, query="the dog", dryRun=False)
    assert "nothing is forgotten that was not shown before" in refused
    ids = [match["id"] for match in shown["matches"]]
    assert (await call_tool(model, "forget_memory", namespace=ns, ids=ids))["matches"] == shown["matches"]
    assert "Toby" in str(await call_tool(model, "get_profile", namespace=ns))
    gone = await call_tool(model, "forget_memory", namespace=ns, ids=ids, dryRun=False)
    assert gone == {"namespace": ns, "forgotten": True, "matches": shown["matches"], "problems": [], "sentences": []}
    assert "Toby" not in str(await call_tool(model, "get_profile", namespace=ns))
    again = await call_tool(model, "forget_memory", namespace=ns, ids=ids, dryRun=False)
    assert again["problems"] == [{"id": ids[0], "error": "It is forgotten already"}]


async def test_redacting_shows_the_sentences_before_it_takes_them_out(
    service: RunningService, model: Client, ns: str
) -> None:
    await _diary(service, ns)
    asked = await call_tool_text(model, "forget_memory", namespace=ns, query="the dog")
    assert "redact true" in asked
    ids = [match["id"] for match in (await call_tool(model, "forget_memory", namespace=ns, query="the dog"))["matches"]]
    refused = await call_tool_text(model, "forget_memory", namespace=ns, query="the dog", redact=True)
    assert "redact takes ids" in refused
    shown = await call_tool(model, "forget_memory", namespace=ns, ids=ids, redact=True)
    assert ["Toby" in sentence["text"] for sentence in shown["sentences"]] == [True]
    assert "Toby" in (await call_tool(model, "get_document", namespace=ns, id="diary/1"))["content"]
    await call_tool(model, "forget_memory", namespace=ns, ids=ids, redact=True, dryRun=False)
    await service.wait_idle()
    assert "Toby" not in (await call_tool(model, "get_document", namespace=ns, id="diary/1"))["content"]
    assert "Toby" not in str(await call_tool(model, "search_memory", namespace=ns, query="What is the dog called?"))


async def test_documents_and_namespaces_are_listed(service: RunningService, model: Client, ns: str) -> None:
    await _diary(service, ns)
    listed = await call_tool(model, "list_documents", namespace=ns)
    (item,) = listed["documents"]
    assert (item["id"], item["status"], item["memories"] > 0, listed["total"]) == ("diary/1", "done", True, 1)
    named = await call_tool(model, "list_namespaces", nameContains=ns)
    assert ns in [entry["namespace"] for entry in named["namespaces"]]


async def test_the_profile_is_a_resource_too_and_the_prompt_brings_it_with_what_a_subject_recalls(
    service: RunningService, model: Client, ns: str
) -> None:
    await _diary(service, ns)
    (contents,) = (await model.read_resource(f"recollect://profile/{ns}")).contents
    assert isinstance(contents, TextResourceContents)
    assert contents.text == await call_tool_text(model, "get_profile", namespace=ns)
    assert "Ada plays the cello" in contents.text
    listed = [item.uri for item in (await model.list_resources()).resources]
    assert {"recollect://namespaces", f"recollect://profile/{ns}"} <= set(listed)
    (overview,) = (await model.read_resource("recollect://namespaces")).contents
    assert isinstance(overview, TextResourceContents)
    assert f"- {ns}: 1 document, " in overview.text
    (message,) = (await model.get_prompt("context", {"namespace": ns, "about": "Who plays an instrument?"})).messages
    assert isinstance(message.content, TextContent)
    assert contents.text in message.content.text
    assert "# About: Who plays an instrument?" in message.content.text


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search_memory", {}, "query: is required"),
        ("search_memory", {"query": "x", "limit": 0}, "limit: must be greater than or equal to 1"),
        ("search_memory", {"query": "x", "namespaces": "a"}, "namespaces: is not a known field"),
        ("search_memory", {"query": "x", "namespace": "a b"}, "namespace: may have letters, digits"),
        ("search_memory", {"query": "x"}, "Name a namespace"),
        ("search_memory", {"query": "x", "namespace": "a", "filter": {"operator": "is"}}, "must be one of"),
        ("get_document", {"namespace": "a", "id": "gone"}, "Document not found"),
        ("add_memory", {"namespace": "a", "content": " "}, "content is empty"),
        ("add_memory", {"namespace": "a", "content": "x", "metadata": {"a": {}}}, "metadata: 'a' must be"),
        ("forget_memory", {"namespace": "a"}, "give either query"),
        ("forget_memory", {"namespace": "a", "ids": ["gone"]}, "Memory not found"),
    ],
)
async def test_what_is_wrong_is_told_to_the_model_in_words(
    model: Client, tool: str, arguments: dict[str, object], said: str
) -> None:
    result = await model.call_tool(tool, arguments)
    (content,) = result.content
    assert result.is_error
    assert isinstance(content, TextContent)
    assert said in content.text
    assert "pydantic" not in content.text


async def test_what_does_not_exist_is_an_error_that_says_what_does(model: Client) -> None:
    with pytest.raises(MCPError, match="tools/list shows all"):
        await model.call_tool("remember", {})
    with pytest.raises(MCPError, match="recollect://namespaces"):
        await model.read_resource("recollect://profile/a b")
    with pytest.raises(MCPError, match="only context"):
        await model.get_prompt("summary", {})


async def test_a_tool_does_what_the_key_may(service: RunningService, model: Client, ns: str) -> None:
    await _diary(service, ns)
    issued = await service.client.ok("POST", "/admin/keys", {"name": "reader", "role": "read", "namespaces": [ns]})
    async with _http(service, issued["key"]) as http, connected(http) as reader:
        caller = await call_tool(reader, "whoami")
        assert (caller["name"], caller["role"], caller["namespaces"]) == ("reader", "read", [ns])
        # The key opens one namespace: it need not be named.
        assert (await call_tool(reader, "search_memory", query="Lisbon"))["namespace"] == ns
        assert "may not write here" in await call_tool_text(reader, "add_memory", content="More.")
        assert "may not forget" in await call_tool_text(reader, "forget_memory", ids=["x"], dryRun=False)
        assert "does not open this namespace" in await call_tool_text(
            reader, "search_memory", query="x", namespace="elsewhere"
        )
        seen = await call_tool(reader, "list_namespaces")
        assert [entry["namespace"] for entry in seen["namespaces"]] == [ns]
    assert (await call_tool(model, "whoami"))["role"] == "admin"


async def test_a_header_says_which_namespace_is_meant(service: RunningService, ns: str) -> None:
    await _diary(service, ns)
    async with _http(service, ADMIN, **{"x-recollect-namespace": ns}) as http, connected(http) as model:
        assert (await call_tool(model, "get_profile"))["namespace"] == ns
        assert (await call_tool(model, "whoami"))["defaultNamespace"] == ns


async def test_every_tool_says_when_to_use_it_and_what_each_argument_means(model: Client) -> None:
    listed = (await model.list_tools()).tools
    assert [tool.name for tool in listed] == [
        "search_memory",
        "add_memory",
        "forget_memory",
        "get_profile",
        "list_documents",
        "get_document",
        "list_namespaces",
        "whoami",
    ]
    for tool in listed:
        assert len(tool.description or "") > 80, tool.name
        assert tool.output_schema is not None
        for name, described in tool.input_schema.get("properties", {}).items():
            assert described.get("description"), f"{tool.name}.{name}"
            assert "title" not in described
        for made in (tool.input_schema, tool.output_schema):
            jsonschema_rs.validator_for(made)
    changing = {tool.name for tool in listed if tool.annotations and not tool.annotations.read_only_hint}
    assert changing == {"add_memory", "forget_memory"}
