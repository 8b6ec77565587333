"""One run over a Notion workspace: all of it, or what changed.

Notion's search is the only list there is. It knows times to the minute and lacks pages now and then, so a
complete run also asks data sources for their rows and pages for their children, and looks for what it knows.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from connectors.concurrency import mapped
from connectors.errors import CursorExpiredError, NotFetchedError
from connectors.http import Http
from connectors.ports import Checkpoint, Failure, File, Item, Known, Note, Removed, Step
from connectors.providers.notion_api import PAGE, Api
from connectors.providers.notion_text import Attachment, properties, read, title, uploaded
from connectors.providers.notion_tree import Tree
from connectors.spool import Spool, spool
from schemas.base import Metadata
from schemas.limits import FILE_BYTES

OVERLAP: Final = timedelta(minutes=10)
"""Search may learn of a change this much later."""
UNSETTLED: Final = timedelta(minutes=2)
"""A page edited so recently may be edited again within the same minute, and nothing would tell."""
_WIDTH: Final = 4
_FILED: Final = "files/"
"""Notes of pages that had files when they were read last."""


class Run:
    """`chosen`: ids of pages and data sources; what stands in none of them is left out. Empty: all is in."""

    def __init__(self, api: Api, http: Http, known: Known, chosen: Sequence[str]) -> None:
        self._api = api
        self._http = http
        self._known = known
        self._chosen = frozenset(chosen)
        self._tree = Tree(api, known)
        self._seen: set[str] = set()
        self._kept: set[str] = set()
        self._reread: set[str] = set()
        self._filed: set[str] = set()
        self._children: list[str] = []
        self._authors: dict[str, str] = {}
        self._now: datetime | None = None
        self._newest = ""

    async def complete(self) -> AsyncIterator[Step]:
        """Everything that is shared with us."""
        with spool() as pages:
            await self._gather(pages)
            for note in self._tree.notes():
                yield note
            for batch in pages.pages(PAGE):
                async for step in self._batch(batch):
                    yield step
                await self._add_children(pages)
                yield Checkpoint({"full": True})
        await self._mention_files()
        yield Checkpoint({"since": self._newest})

    async def changed(self, since: str) -> AsyncIterator[Step]:
        """What was changed or put into the trash since, newest first."""
        border = datetime.fromisoformat(since) - OVERLAP if since else None
        self._newest = since
        async for listing in self._api.newest_first():
            self._now = self._now or listing.at
            fresh = [one for one in listing.results if _is_after(one, border)]
            self._newest = _newest(self._newest, fresh)
            moved = await self._tree.put(one for one in fresh if "parent" in one)
            if moved and self._chosen:
                raise CursorExpiredError
            async for step in self._batch([one for one in fresh if one["object"] == "page"]):
                yield step
            if len(fresh) < len(listing.results):
                break
        async for id_ in self._trashed(border):
            yield Removed(id_)
        yield Checkpoint({"since": self._newest})

    async def _trashed(self, border: datetime | None) -> AsyncIterator[str]:
        """What is known of pages in the trash, and of the pages in those."""
        async for listing in self._api.newest_first(property="object", value="page", in_trash=True):
            fresh = [one for one in listing.results if _is_after(one, border)]
            for page in fresh:
                if [id_ async for id_, _ in self._known.versions(page["id"])]:
                    for inner in await self._tree.within(page["id"]):
                        for id_ in [id_ async for id_, _ in self._known.versions(inner)]:
                            yield id_
            if len(fresh) < len(listing.results):
                return

    async def _gather(self, pages: Spool) -> None:
        """Every page, once: those that search finds, rows of data sources, and those known before."""
        sources: list[str] = []
        async for listing in self._api.newest_first():
            self._now = self._now or listing.at
            sources += [one["id"] for one in listing.results if one["object"] == "data_source"]
            await self._take(pages, listing.results)
        for source in sources:
            async for listing in self._api.listed(f"data_sources/{source}/query", {}):
                await self._take(pages, listing.results)
        known = [id_ async for id_, _ in self._known.versions() if "/" not in id_]
        async for page in mapped([id_ for id_ in known if id_ not in self._seen], self._page, _WIDTH):
            await self._take(pages, page)

    async def _take(self, pages: Spool, objects: Sequence[dict[str, Any]]) -> None:
        await self._tree.put(one for one in objects if "parent" in one)
        self._newest = _newest(self._newest, objects)
        fresh = [one for one in objects if one["object"] == "page" and one["id"] not in self._seen]
        self._seen |= {page["id"] for page in fresh}
        pages.add((page["id"], page) for page in fresh)

    async def _add_children(self, pages: Spool) -> None:
        """Pages that only the text of another one tells of."""
        children = [id_ for id_ in dict.fromkeys(self._children) if id_ not in self._seen]
        self._children.clear()
        async for page in mapped(children, self._page, _WIDTH):
            await self._take(pages, page)

    async def _page(self, id_: str) -> list[dict[str, Any]]:
        """None or one: it may be in the trash, or not shared with us any more."""
        found = await self._api.find(f"pages/{id_}")
        return [] if found is None or found.get("in_trash") else [found]

    async def _batch(self, pages: Sequence[dict[str, Any]]) -> AsyncIterator[Step]:
        """Read what changed among these pages."""
        whole = [
            page if "properties" in page else await self._api.find(f"pages/{page['id']}") for page in pages
        ]
        inside = [page for page in whole if page is not None and await self._is_inside(page["id"])]
        self._kept |= {page["id"] for page in inside}
        wanted = await self._known.wanted([(page["id"], self._version(page)) for page in inside])
        chosen = [page for page in inside if page["id"] in wanted]
        for note in await self._learn_authors({page["created_by"]["id"] for page in chosen}):
            yield note
        self._filed = set(await self._known.notes([_FILED + page["id"] for page in chosen]))
        async for page, enhanced in mapped(chosen, self._read, _WIDTH):
            async for step in self._steps(page, enhanced):
                yield step
        for note in self._tree.notes():
            yield note

    async def _is_inside(self, id_: str) -> bool:
        return not self._chosen or not self._chosen.isdisjoint(await self._tree.above(id_))

    def _version(self, page: Mapping[str, Any]) -> str:
        """Another one as long as the page may change without its time doing so: it is read once more then."""
        edited = str(page["last_edited_time"])
        unsettled = self._now is not None and datetime.fromisoformat(edited) > self._now - UNSETTLED
        return f"{edited} unsettled" if unsettled else edited

    async def _read(self, page: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
        return page, await self._api.markdown(page["id"])

    async def _steps(self, page: Mapping[str, Any], enhanced: str | None) -> AsyncIterator[Step]:
        if enhanced is None:
            yield Removed(page["id"])
            return
        self._reread.add(page["id"])
        text = read(enhanced)
        self._children += text.children
        name = title(page) or "Untitled"
        lines = [f"**{key}**: {shown}" for key, shown in properties(page["properties"])]
        body = "\n\n".join(part for part in (f"# {name}", "  \n".join(lines), text.markdown) if part)
        edited = datetime.fromisoformat(page["last_edited_time"])
        metadata: Metadata = {
            "type": "page",
            "path": await self._tree.path(page["id"]),
            "createdAt": page["created_time"],
            "updatedAt": page["last_edited_time"],
        }
        author = self._authors.get(page["created_by"]["id"])
        if author:
            metadata["author"] = author
        yield Item(
            page["id"], self._version(page), name, text=body, url=page["url"], metadata=metadata, date=edited
        )
        async for step in self._attached(page, [*text.attachments, *uploaded(page["properties"])]):
            yield step

    async def _attached(self, page: Mapping[str, Any], files: Sequence[Attachment]) -> AsyncIterator[Step]:
        """Its files. The path of an address stays as long as the file does, its signature does not."""
        key, prefix = _FILED + page["id"], f"{page['id']}/files/"
        if not files and key not in self._filed:
            return
        named: dict[str, Attachment] = {}
        for file in files:
            count = sum(other.name == file.name for other in named.values())
            named[prefix + file.name + (f" ({count + 1})" if count else "")] = file
        for gone in [id_ async for id_, _ in self._known.versions(prefix) if id_ not in named]:
            yield Removed(gone)
        versions = [(id_, urlsplit(file.address).path) for id_, file in named.items()]
        wanted = await self._known.wanted(versions)
        for id_, version in versions:
            if id_ in wanted:
                yield await self._file(page, id_, version, named[id_])
        yield Note(key, "yes" if named else None)

    async def _file(self, page: Mapping[str, Any], id_: str, version: str, file: Attachment) -> Step:
        try:
            answer = await self._http.get(file.address, limit=FILE_BYTES, bare=True)
        except NotFetchedError as error:
            return Failure(id_, str(error), file.name)
        if answer.status_code >= 400:
            return Failure(id_, f"Notion's file store answered {answer.status_code}.", file.name, again=True)
        metadata: Metadata = {
            "type": "file",
            "path": f"{await self._tree.path(page['id'])} / {file.name}",
            "createdAt": page["created_time"],
            "updatedAt": page["last_edited_time"],
        }
        kept = File(answer.content, file.name)
        return Item(id_, version, file.name, file=kept, url=page["url"], metadata=metadata)

    async def _learn_authors(self, ids: set[str]) -> list[Note]:
        """Names, where the connection may read users; nobody's is asked for twice."""
        unknown = ids - self._authors.keys()
        notes = await self._known.notes([f"user/{id_}" for id_ in unknown])
        self._authors |= {key.removeprefix("user/"): name for key, name in notes.items()}
        learned: list[Note] = []
        for id_ in sorted(unknown - self._authors.keys()):
            user = await self._api.find(f"users/{id_}")
            self._authors[id_] = (user or {}).get("name") or ""
            learned.append(Note(f"user/{id_}", self._authors[id_]))
        return learned

    async def _mention_files(self) -> None:
        """The files of pages that did not change are still there."""
        kept: list[tuple[str, str]] = []
        async for id_, version in self._known.versions():
            page, slash, _ = id_.partition("/files/")
            if slash and page in self._kept and page not in self._reread:
                kept.append((id_, version))
        await self._known.wanted(kept)


def _newest(so_far: str, objects: Sequence[Mapping[str, Any]]) -> str:
    return max([so_far, *(str(one.get("last_edited_time", "")) for one in objects)])


def _is_after(found: Mapping[str, Any], border: datetime | None) -> bool:
    """Also what came without a time: it is better looked at."""
    edited = found.get("last_edited_time")
    return border is None or edited is None or datetime.fromisoformat(edited) >= border
