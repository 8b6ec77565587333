"""MCP resources and the prompt, which people attach to a conversation; tools are called by the model."""

import re
from urllib.parse import unquote

from api.mcp import tool_arguments, tool_definitions, tool_results
from api.mcp.service_client import ServiceClient, ToolCallError
from schemas.limits import NAMESPACE_PATTERN

NAMESPACES_URI = "recollect://namespaces"
PROFILE_URI_PREFIX = "recollect://profile/"
PROFILE_URI_TEMPLATE = PROFILE_URI_PREFIX + "{namespace}"
MAX_CONTEXT_RESULTS = 8


async def list_namespaces(client: ServiceClient) -> tool_results.NamespacePage:
    """Return the first page of namespaces."""
    return await tool_definitions.list_namespaces(client, tool_arguments.ListNamespacesArguments())


async def read_resource(client: ServiceClient, uri: str) -> str:
    """Return a resource as Markdown; ToolCallError if the URI is unknown."""
    if uri == NAMESPACES_URI:
        return (await list_namespaces(client)).as_text()
    namespace = unquote(uri.removeprefix(PROFILE_URI_PREFIX)) if uri.startswith(PROFILE_URI_PREFIX) else ""
    if not re.fullmatch(NAMESPACE_PATTERN, namespace):
        raise ToolCallError(
            f"There is no resource {uri[:200]!r}, only {NAMESPACES_URI} and one {PROFILE_URI_TEMPLATE} each."
        )
    return (await tool_definitions.profile(client, tool_arguments.ProfileArguments(namespace=namespace))).as_text()


async def conversation_context(client: ServiceClient, prompt_arguments: tool_arguments.ContextArguments) -> str:
    """Return the start of a conversation: the profile, and search results about its subject."""
    profile = await tool_definitions.profile(
        client, tool_arguments.ProfileArguments(namespace=prompt_arguments.namespace)
    )
    parts = ["This is what is remembered. Use it where it helps, and do not repeat it unasked.", profile.as_text()]
    if prompt_arguments.about is not None:
        question = tool_arguments.SearchArguments(
            query=prompt_arguments.about, namespace=profile.namespace, limit=MAX_CONTEXT_RESULTS
        )
        results = await tool_definitions.search(client, question)
        parts += [f"# About: {prompt_arguments.about}", results.as_text()]
    return "\n\n".join(parts)
