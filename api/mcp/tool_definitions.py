"""Tool definitions: name, description for the model, and the API call behind each."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, Final, TypeVar
from urllib.parse import quote

from api.mcp import tool_arguments, tool_results
from api.mcp.service_client import ServiceClient
from pipeline.text.page_breaks import page_phrase
from schemas.base import RequestBody

T = TypeVar("T", bound=RequestBody)
R = TypeVar("R", bound=tool_results.ToolResult)


Handler = Callable[[ServiceClient, T], Awaitable[R]]


@dataclass(frozen=True, slots=True)
class Tool:
    """Tool with its annotations; clients show `read_only` and `destructive` when they ask for consent."""

    name: str
    title: str
    description: str
    arguments_type: type[RequestBody]
    result_type: type[tool_results.ToolResult]
    handler: Handler[Any, tool_results.ToolResult]
    read_only: bool
    destructive: bool
    idempotent: bool
    """True if a repeated call with the same arguments has no further effect."""


TOOLS: Final[dict[str, Tool]] = {}
"""Tools by name, in the order in which they are listed."""


def _tool(
    title: str, description: str, *, read_only: bool = True, destructive: bool = False, idempotent: bool = True
) -> Callable[[Handler[T, R]], Handler[T, R]]:
    """Add a tool with the name of its function, whose annotations tell the types of arguments and result."""

    def add(handler: Handler[T, R]) -> Handler[T, R]:
        types, name = signature(handler), handler.__name__
        _, args = types.parameters.values()
        TOOLS[name] = Tool(
            name,
            title,
            description,
            args.annotation,
            types.return_annotation,
            handler,
            read_only,
            destructive,
            idempotent,
        )
        return handler

    return add


@_tool(
    "Search memory",
    "Look up what is remembered: facts about people and projects, and passages of"
    " documents, notes, mails and chats. Use it before you answer anything that may depend on earlier"
    " conversations, preferences, decisions or the user's documents, and before you say that you don't"
    " know. A topic alone (the user's health) finds all that is known of it. Results come best first; below a"
    " similarity of about 0.5 they are often about something else. If a passage is cut short,"
    " get_document has the rest.",
)
async def search_memory(client: ServiceClient, args: tool_arguments.SearchArguments) -> tool_results.SearchResults:
    """POST /ns/{ns}/search."""
    namespace = await client.resolve_namespace(args.namespace)
    body: dict[str, Any] = {
        "query": args.query,
        "limit": args.limit,
        "searchMode": args.mode,
        "include": {"documents": True},
    }
    if args.filter is not None:
        body["filter"] = args.filter
    response = await client.call("POST", f"/ns/{quote(namespace)}/search", body=body)
    return tool_results.SearchResults(
        namespace=namespace, results=[_to_search_hit(result) for result in response["results"]]
    )


def _to_search_hit(result: dict[str, Any]) -> tool_results.SearchHit:
    memory = result.get("memory")
    document = (result.get("included") or {}).get("document")
    source = None if document is None else tool_results.ResultSource.model_validate(document)
    trust = result["metadata"].get("trust")
    return tool_results.SearchHit(
        id=result["id"],
        kind="passage" if memory is None else "memory",
        text=memory or result["chunk"],
        similarity=result["similarity"],
        updated_at=result["system"]["updatedAt"],
        source=source,
        trust=trust if isinstance(trust, str) else None,
        place=None if source is None else page_phrase(source.type, result["metadata"]),
    )


@_tool(
    "Add to memory",
    "Remember something for later conversations: what the user says about themselves, a"
    " preference, a decision with its reason, the outcome of a piece of work, or a whole document or"
    " web page. Use it when the user asks you to remember, or says something lasting; not for small"
    " talk, not for what is only needed now, and never for passwords or keys. Facts that contradict"
    " older ones replace them by themselves: just add the new one.",
    read_only=False,
    idempotent=False,
)
async def add_memory(client: ServiceClient, args: tool_arguments.AddArguments) -> tool_results.DocumentAdded:
    """POST /ns/{ns}/document, with instant extraction, as the conversation may soon ask for it."""
    namespace = await client.resolve_namespace(args.namespace)
    body = args.model_dump(by_alias=True, exclude_none=True, exclude={"namespace", "context"})
    if args.context is not None:
        body["supportingContext"] = args.context
    accepted = await client.call("POST", f"/ns/{quote(namespace)}/document", body={**body, "dreaming": "instant"})
    return tool_results.DocumentAdded(namespace=namespace, id=accepted["id"], status=accepted["status"])


@_tool(
    "Forget memories",
    "Make facts be forgotten, when the user asks for it. Two calls: first with `query`,"
    " which only shows what fits, with ids; then, once the user agreed, with those `ids` and `dryRun`"
    " false. Forgotten facts are not recalled any more, but the passages of documents that say them still are:"
    " offer the user `redact`, which takes the sentences out of the documents too.",
    read_only=False,
    destructive=True,
)
async def forget_memory(client: ServiceClient, args: tool_arguments.ForgetArguments) -> tool_results.ForgetResult:
    """DELETE /ns/{ns}/memories by id, or a preview."""
    namespace = await client.resolve_namespace(args.namespace)
    path = f"/ns/{quote(namespace)}/memories"
    if args.ids is not None and args.redact:
        redactions = f"/ns/{quote(namespace)}/explain/redactions"
        response = await client.call("POST", redactions, body={"ids": args.ids, "dryRun": args.dry_run})
    elif args.ids is None:
        response = await client.call("DELETE", f"{path}/semantic", body={"query": args.query, "dryRun": True})
    elif args.dry_run:
        shown = [await client.call("GET", f"{path}/{quote(memory_id, safe='')}") for memory_id in args.ids]
        response = {"matches": [memory for memory in shown if not memory["isForgotten"]], "errors": []}
    else:
        response = await client.call("DELETE", path, body={"ids": args.ids})
    return tool_results.ForgetResult(
        namespace=namespace,
        forgotten=not args.dry_run,
        matches=response["matches"],
        problems=response["errors"],
        sentences=[
            tool_results.RedactedSentence(document=document["id"], text=text)
            for document in response.get("documents", ())
            for text in document["sentences"]
        ],
    )


@_tool(
    "Get profile",
    "What is known about whom the namespace is for, on one page: what lasts, what is going"
    " on, and the sections the operator chose. Use it once at the start of a conversation to know whom"
    " you are talking to; for a particular question use search_memory.",
)
async def get_profile(client: ServiceClient, args: tool_arguments.ProfileArguments) -> tool_results.ProfileResult:
    """POST /ns/{ns}/profile."""
    namespace = await client.resolve_namespace(args.namespace)
    sections = (await client.call("POST", f"/ns/{quote(namespace)}/profile", body={}))["profile"]

    def texts(facts: list[dict[str, str]]) -> list[str]:
        return [fact["memory"] for fact in facts]

    return tool_results.ProfileResult(
        namespace=namespace,
        static=texts(sections["static"]),
        dynamic=texts(sections["dynamic"]),
        buckets={name: texts(facts) for name, facts in sections["buckets"].items()},
    )


@_tool(
    "List documents",
    "The documents that were added, newest first, with their ids and whether they could be"
    " read. To find something by what it says use search_memory.",
)
async def list_documents(
    client: ServiceClient, args: tool_arguments.ListDocumentsArguments
) -> tool_results.DocumentPage:
    """POST /ns/{ns}/list/documents."""
    namespace = await client.resolve_namespace(args.namespace)
    query = {"page": args.page, "limit": args.limit}
    listed = await client.call("POST", f"/ns/{quote(namespace)}/list/documents", query=query, body={})
    documents = [
        tool_results.ListedDocument.model_validate(
            {**document, "error": None, **document["system"], "memories": document["system"]["memoryCount"]}
        )
        for document in listed["documents"]
    ]
    return tool_results.DocumentPage(namespace=namespace, documents=documents, **_page_fields(listed))


@_tool(
    "Get a document",
    "The text of one document and the facts found in it. Long texts come in parts: if the"
    " answer has a `nextOffset`, call again with it.",
)
async def get_document(client: ServiceClient, args: tool_arguments.GetDocumentArguments) -> tool_results.DocumentText:
    """GET /ns/{ns}/document/{id}; returns a part of the text."""
    namespace = await client.resolve_namespace(args.namespace)
    path = f"/ns/{quote(namespace)}/document/{quote(args.id, safe='')}"
    read = await client.call("GET", path, query={} if args.offset else {"include": "memories"})
    memories = read.get("memories", [])
    content = read["content"] or ""
    end = args.offset + args.length
    return tool_results.DocumentText(
        namespace=namespace,
        id=read["id"],
        title=read["title"],
        type=read["type"],
        status=read["system"]["status"],
        content=content[args.offset : end],
        total_characters=len(content),
        next_offset=end if end < len(content) else None,
        memories=memories[: tool_results.MAX_DOCUMENT_MEMORIES],
        more_memories=max(0, len(memories) - tool_results.MAX_DOCUMENT_MEMORIES),
        updated_at=read["system"]["updatedAt"],
    )


@_tool(
    "List namespaces",
    "Whose memories there are and this key may read, with how much is in each. Use it when"
    " you do not know which `namespace` to give to the other tools.",
)
async def list_namespaces(
    client: ServiceClient, args: tool_arguments.ListNamespacesArguments
) -> tool_results.NamespacePage:
    """GET /ns."""
    query = {"page": args.page, "limit": 100} | ({} if args.name_contains is None else {"q": args.name_contains})
    listed = await client.call("GET", "/ns", query=query)
    namespaces = [
        tool_results.ListedNamespace(
            namespace=item["namespace"],
            documents=item["documentCount"],
            memories=item["memoryCount"],
            description=item["description"],
        )
        for item in listed["namespaces"]
    ]
    return tool_results.NamespacePage(namespaces=namespaces, **_page_fields(listed))


def _page_fields(listed: dict[str, Any]) -> dict[str, Any]:
    pagination = listed["pagination"]
    return {
        "page": pagination["currentPage"],
        "pages": pagination["totalPages"],
        "total": pagination["totalItems"],
    }


@_tool(
    "Who am I",
    "Which key is in use, and which namespaces it may read or write. Use it when a call was refused.",
)
async def whoami(client: ServiceClient, _: tool_arguments.WhoAmIArguments) -> tool_results.CallerResult:
    """GET /admin/whoami."""
    caller = await client.call("GET", "/admin/whoami")
    return tool_results.CallerResult.model_validate({**caller, "defaultNamespace": client.default_namespace})
