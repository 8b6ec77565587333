"""The MCP server of the official SDK, made of the tools, resources and the prompt; whatever carries it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from api import VERSION
from api.errors import problem
from api.mcp import arguments, reading
from api.mcp.interface import Interface, RefusedError
from api.mcp.tools import TOOLS, Tool
from schemas.base import Body

T = TypeVar("T", bound=Body)
Asked = ServerRequestContext[Any, Any]
Callers = Callable[[Asked], Interface]
"""Who is asking, from what the transport knows of the request."""

MARKDOWN = "text/markdown"
INSTRUCTIONS = (
    "A memory that outlives conversations. At the start of one, get_profile says whom you are talking to."
    " Use search_memory before answering what may depend on the past or on the user's documents;"
    " add_memory when you learn something lasting; forget_memory only when asked. Say so when you answer"
    " from memory."
)
CONTEXT = types.Prompt(
    name="context",
    title="What is remembered",
    description="Begin a conversation with the profile, and with what is remembered of its subject.",
    arguments=[
        types.PromptArgument(
            name="namespace",
            description="Whose memory; may be left out if the key opens only one.",
            required=False,
        ),
        types.PromptArgument(
            name="about", description="What the conversation will be about.", required=False
        ),
    ],
)
_NAMED = {tool.name: tool for tool in TOOLS}


def make(callers: Callers) -> Server:
    """A server that asks the interface as whoever sent the request."""
    asking = _Asking(callers)
    return Server(
        "recollect",
        version=VERSION,
        title="recollect",
        instructions=INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=asking.call_tool,
        on_list_resources=asking.list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=asking.read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=asking.get_prompt,
    )


@dataclass(frozen=True, slots=True)
class _Asking:
    """The handlers that ask the interface. A refused tool tells the model; anything else is an error."""

    callers: Callers

    async def call_tool(self, asked: Asked, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = _NAMED.get(params.name)
        if tool is None:
            raise MCPError(
                types.INVALID_PARAMS, f"There is no tool {params.name[:100]!r}: tools/list has all."
            )
        try:
            answer = await tool.run(self.callers(asked), _checked(tool.takes, params.arguments or {}))
        except RefusedError as error:
            return types.CallToolResult(content=[_text(str(error))], is_error=True)
        structure = answer.model_dump(mode="json", by_alias=True)
        return types.CallToolResult(content=[_text(answer.text())], structured_content=structure)

    async def list_resources(
        self, asked: Asked, _: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        with _refusals():
            listed = await reading.namespaces(self.callers(asked))
        profiles = [_profile(one.namespace) for one in listed.namespaces]
        return types.ListResourcesResult(resources=[_NAMESPACES, *profiles])

    async def read_resource(
        self, asked: Asked, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        with _refusals():
            text = await reading.read(self.callers(asked), params.uri)
        contents = types.TextResourceContents(uri=params.uri, mime_type=MARKDOWN, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def get_prompt(self, asked: Asked, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != CONTEXT.name:
            raise MCPError(
                types.INVALID_PARAMS, f"There is no prompt {params.name[:100]!r}, only {CONTEXT.name}."
            )
        # Clients send what was left empty as an empty text.
        given = {name: value for name, value in (params.arguments or {}).items() if value}
        with _refusals():
            text = await reading.context(self.callers(asked), _checked(arguments.Context, given))
        message = types.PromptMessage(role="user", content=_text(text))
        return types.GetPromptResult(description=CONTEXT.description, messages=[message])


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except RefusedError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from error


def _checked(takes: type[T], given: dict[str, Any]) -> T:
    try:
        return takes.model_validate(given)
    except ValidationError as error:
        raise RefusedError(_said(error)) from error


def _said(error: ValidationError) -> str:
    """What is wrong with arguments, in the words of the HTTP interface."""
    found = error.errors(include_url=False)
    return "; ".join(
        str(problem({**one, "loc": ("arguments", *one["loc"])}, None)["message"]) for one in found
    )


async def _list_tools(_: Asked, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS])


@cache
def _described(tool: Tool[Any]) -> types.Tool:
    # Every client asks for all of them when it begins, and making their schemas takes 10 ms.
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema(tool.takes.model_json_schema()),
        output_schema=schema(tool.gives.model_json_schema(mode="serialization")),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.repeatable,
            open_world_hint=False,
        ),
    )


def schema(made: dict[str, Any]) -> dict[str, Any]:
    """Without what a model gains nothing from: generated titles, docstrings of types, defaults of null."""
    return {
        name: _schema_part(name, part) for name, part in made.items() if name not in {"title", "description"}
    }


def _schema_part(name: str, part: Any) -> Any:
    if name in {"properties", "$defs"}:
        clean = schema if name == "$defs" else _property
        return {key: clean(value) for key, value in part.items()}
    return part


def _property(made: dict[str, Any]) -> dict[str, Any]:
    return {
        name: part
        for name, part in made.items()
        if name != "title" and not (name == "default" and part is None)
    }


async def _list_templates(
    _: Asked, __: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        name="profile",
        title="Profile of a namespace",
        description="What is known about whom the namespace is for, on one page.",
        uri_template=reading.PROFILE_TEMPLATE,
        mime_type=MARKDOWN,
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def _list_prompts(_: Asked, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[CONTEXT])


_NAMESPACES = types.Resource(
    name="namespaces",
    title="Namespaces",
    description="Whose memories there are, and how much is in each.",
    uri=reading.NAMESPACES,
    mime_type=MARKDOWN,
)


def _profile(namespace: str) -> types.Resource:
    return types.Resource(
        name=f"profile of {namespace}",
        title=f"Profile of {namespace}",
        uri=reading.PROFILES + namespace,
        mime_type=MARKDOWN,
    )


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)
