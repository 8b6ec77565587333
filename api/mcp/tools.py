"""The tools: what each is for, in words for a model, and what it asks of the interface."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from api.mcp import answers, arguments
from api.mcp.interface import Interface
from schemas.base import Body

T = TypeVar("T", bound=Body)


@dataclass(frozen=True, slots=True)
class Tool(Generic[T]):
    """A tool. `destructive` and `reads` are what clients show before they ask their users."""

    name: str
    title: str
    description: str
    takes: type[T]
    gives: type[answers.Told]
    run: Callable[[Interface, T], Awaitable[answers.Told]]
    reads: bool = True
    destructive: bool = False
    repeatable: bool = True
    """Whether calling it again with the same arguments changes nothing more."""


async def search(service: Interface, asked: arguments.Search) -> answers.Found:
    """POST /ns/{ns}/search."""
    namespace = await service.namespace_of(asked.namespace)
    body: dict[str, Any] = {
        "query": asked.query,
        "limit": asked.limit,
        "searchMode": asked.mode,
        "include": {"documents": True},
    }
    if asked.filter is not None:
        body["filter"] = asked.filter
    found = await service.call("POST", f"/ns/{quote(namespace)}/search", body=body)
    return answers.Found(namespace=namespace, results=[_hit(one) for one in found["results"]])


def _hit(result: dict[str, Any]) -> answers.Hit:
    memory = result.get("memory")
    document = (result.get("included") or {}).get("document")
    return answers.Hit(
        id=result["id"],
        kind="passage" if memory is None else "memory",
        text=memory or result["chunk"],
        similarity=result["similarity"],
        updated_at=result["system"]["updatedAt"],
        source=None if document is None else answers.Source(id=document["id"], title=document["title"]),
    )


async def add(service: Interface, given: arguments.Add) -> answers.Added:
    """POST /ns/{ns}/document. Memories are formed at once: whoever talks to a model asks soon."""
    namespace = await service.namespace_of(given.namespace)
    body = given.model_dump(by_alias=True, exclude_none=True, exclude={"namespace", "context"})
    if given.context is not None:
        body["supportingContext"] = given.context
    accepted = await service.call(
        "POST", f"/ns/{quote(namespace)}/document", body={**body, "dreaming": "instant"}
    )
    return answers.Added(namespace=namespace, id=accepted["id"], status=accepted["status"])


async def forget(service: Interface, asked: arguments.Forget) -> answers.Forgotten:
    """DELETE /ns/{ns}/memories by id, or a look at what would go."""
    namespace = await service.namespace_of(asked.namespace)
    path = f"/ns/{quote(namespace)}/memories"
    if asked.ids is None:
        gone = await service.call("DELETE", f"{path}/semantic", body={"query": asked.query, "dryRun": True})
    elif asked.dry_run:
        shown = [await service.call("GET", f"{path}/{quote(one, safe='')}") for one in asked.ids]
        gone = {"matches": [one for one in shown if not one["isForgotten"]], "errors": []}
    else:
        gone = await service.call("DELETE", path, body={"ids": asked.ids})
    return answers.Forgotten(
        namespace=namespace,
        forgotten=not asked.dry_run,
        matches=[answers.Match(id=one["id"], memory=one["memory"]) for one in gone["matches"]],
        problems=[answers.Problem(id=one["id"], error=one["error"]) for one in gone["errors"]],
    )


async def profile(service: Interface, asked: arguments.Profile) -> answers.Known:
    """POST /ns/{ns}/profile."""
    namespace = await service.namespace_of(asked.namespace)
    known = (await service.call("POST", f"/ns/{quote(namespace)}/profile", body={}))["profile"]

    def texts(facts: list[dict[str, str]]) -> list[str]:
        return [fact["memory"] for fact in facts]

    return answers.Known(
        namespace=namespace,
        lasting=texts(known["static"]),
        recent=texts(known["dynamic"]),
        buckets={name: texts(facts) for name, facts in known["buckets"].items()},
    )


async def list_documents(service: Interface, asked: arguments.ListDocuments) -> answers.Documents:
    """POST /ns/{ns}/list/documents."""
    namespace = await service.namespace_of(asked.namespace)
    query = {"page": asked.page, "limit": asked.limit}
    listed = await service.call("POST", f"/ns/{quote(namespace)}/list/documents", query=query, body={})
    return answers.Documents(
        namespace=namespace,
        documents=[
            answers.ListedDocument(
                id=one["id"],
                title=one["title"],
                type=one["type"],
                status=one["system"]["status"],
                memories=one["system"]["memoryCount"],
                updated_at=one["system"]["updatedAt"],
                error=one["system"].get("error"),
            )
            for one in listed["documents"]
        ],
        page=listed["pagination"]["currentPage"],
        pages=listed["pagination"]["totalPages"],
        total=listed["pagination"]["totalItems"],
    )


async def get_document(service: Interface, asked: arguments.GetDocument) -> answers.Document:
    """GET /ns/{ns}/document/{id}: a part of the text, as models read only so much."""
    namespace = await service.namespace_of(asked.namespace)
    path = f"/ns/{quote(namespace)}/document/{quote(asked.id, safe='')}"
    read = await service.call("GET", path, query={"include": "memories"})
    content = read["content"] or ""
    end = asked.offset + asked.length
    return answers.Document(
        namespace=namespace,
        id=read["id"],
        title=read["title"],
        type=read["type"],
        status=read["system"]["status"],
        content=content[asked.offset : end],
        total_characters=len(content),
        next_offset=end if end < len(content) else None,
        memories=[answers.Match(id=one["id"], memory=one["memory"]) for one in read["memories"]],
        updated_at=read["system"]["updatedAt"],
    )


async def list_namespaces(service: Interface, asked: arguments.ListNamespaces) -> answers.Namespaces:
    """GET /ns."""
    query = {"page": asked.page, "limit": 100} | ({} if asked.containing is None else {"q": asked.containing})
    listed = await service.call("GET", "/ns", query=query)
    return answers.Namespaces(
        namespaces=[
            answers.ListedNamespace(
                namespace=one["namespace"],
                documents=one["documentCount"],
                memories=one["memoryCount"],
                description=one["description"],
            )
            for one in listed["namespaces"]
        ],
        page=listed["pagination"]["currentPage"],
        pages=listed["pagination"]["totalPages"],
        total=listed["pagination"]["totalItems"],
    )


async def whoami(service: Interface, _: arguments.WhoAmI) -> answers.Caller:
    """GET /admin/whoami."""
    caller = await service.call("GET", "/admin/whoami")
    return answers.Caller(
        id=caller["id"],
        name=caller["name"],
        role=caller["role"],
        namespaces=caller["namespaces"],
        expires_at=caller["expiresAt"],
        default_namespace=service.namespace,
    )


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        name="search_memory",
        title="Search memory",
        description="Look up what is remembered: facts about people and projects, and passages of"
        " documents, notes, mails and chats. Use it before you answer anything that may depend on earlier"
        " conversations, preferences, decisions or the user's documents, and before you say that you don't"
        " know. Results come best first; below a similarity of about 0.5 they are often about something"
        " else. If a passage is cut short, get_document has the rest.",
        takes=arguments.Search,
        gives=answers.Found,
        run=search,
    ),
    Tool(
        name="add_memory",
        title="Add to memory",
        description="Remember something for later conversations: what the user says about themselves, a"
        " preference, a decision with its reason, the outcome of a piece of work, or a whole document or"
        " web page. Use it when the user asks you to remember, or says something lasting; not for small"
        " talk, not for what is only needed now, and never for passwords or keys. Facts that contradict"
        " older ones replace them by themselves: just add the new one.",
        takes=arguments.Add,
        gives=answers.Added,
        run=add,
        reads=False,
        repeatable=False,
    ),
    Tool(
        name="forget_memory",
        title="Forget memories",
        description="Make facts be forgotten, when the user asks for it. Two calls: first with `query`,"
        " which only shows what fits, with ids; then, once the user agreed, with those `ids` and `dryRun`"
        " false. Forgotten facts are not recalled any more; the documents they were found in stay.",
        takes=arguments.Forget,
        gives=answers.Forgotten,
        run=forget,
        reads=False,
        destructive=True,
    ),
    Tool(
        name="get_profile",
        title="Get profile",
        description="What is known about whom the namespace is for, on one page: what lasts, what is going"
        " on, and the sections the operator chose. Use it once at the start of a conversation to know whom"
        " you are talking to; for a particular question use search_memory.",
        takes=arguments.Profile,
        gives=answers.Known,
        run=profile,
    ),
    Tool(
        name="list_documents",
        title="List documents",
        description="The documents that were added, newest first, with their ids and whether they could be"
        " read. To find something by what it says use search_memory.",
        takes=arguments.ListDocuments,
        gives=answers.Documents,
        run=list_documents,
    ),
    Tool(
        name="get_document",
        title="Get a document",
        description="The text of one document and the facts found in it. Long texts come in parts: if the"
        " answer has a `nextOffset`, call again with it.",
        takes=arguments.GetDocument,
        gives=answers.Document,
        run=get_document,
    ),
    Tool(
        name="list_namespaces",
        title="List namespaces",
        description="Whose memories there are and this key may read, with how much is in each. Use it when"
        " you do not know which `namespace` to give to the other tools.",
        takes=arguments.ListNamespaces,
        gives=answers.Namespaces,
        run=list_namespaces,
    ),
    Tool(
        name="whoami",
        title="Who am I",
        description="Which key is in use, and which namespaces it may read or write. Use it when a call"
        " was refused.",
        takes=arguments.WhoAmI,
        gives=answers.Caller,
        run=whoami,
    ),
)
