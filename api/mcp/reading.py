"""Resources and the prompt: what a person attaches to a conversation, where tools are for the model."""

import re
from urllib.parse import unquote

from api.mcp import answers, arguments, tools
from api.mcp.interface import Interface, RefusedError
from schemas.limits import NAMESPACE_PATTERN

NAMESPACES = "recollect://namespaces"
PROFILES = "recollect://profile/"
PROFILE_TEMPLATE = PROFILES + "{namespace}"
RECALLED = 8


async def namespaces(service: Interface) -> answers.Namespaces:
    """The first page of namespaces."""
    return await tools.list_namespaces(service, arguments.ListNamespaces())


async def read(service: Interface, uri: str) -> str:
    """A resource as Markdown; RefusedError where there is none of this address."""
    if uri == NAMESPACES:
        return (await namespaces(service)).text()
    named = unquote(uri.removeprefix(PROFILES)) if uri.startswith(PROFILES) else ""
    if not re.fullmatch(NAMESPACE_PATTERN, named):
        raise RefusedError(
            f"There is no resource {uri[:200]!r}, only {NAMESPACES} and one {PROFILE_TEMPLATE} each."
        )
    return (await tools.profile(service, arguments.Profile(namespace=named))).text()


async def context(service: Interface, asked: arguments.Context) -> str:
    """What a conversation should begin with: the profile, and what is known about its subject."""
    known = await tools.profile(service, arguments.Profile(namespace=asked.namespace))
    parts = ["This is what is remembered. Use it where it helps, and do not repeat it unasked.", known.text()]
    if asked.about is not None:
        question = arguments.Search(query=asked.about, namespace=known.namespace, limit=RECALLED)
        found = await tools.search(service, question)
        parts += [f"# About: {asked.about}", found.text()]
    return "\n\n".join(parts)
