"""Issues and pull requests with their discussion, one document each."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from connectors.concurrency import mapped
from connectors.http import checked
from connectors.ports import Item, Known, Removed
from connectors.providers.github_api import Api, Repository
from connectors.spool import spool
from schemas.base import Metadata

_WIDTH: Final = 8
_KEPT: Final = ("id", "body", "created_at", "updated_at", "user")


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a list ordered by change was read: the newest time in it, and what bore that very time.

    GitHub's times have a second's grain and `since` includes it, so the last ones are listed again.
    """

    at: str = ""
    seen: tuple[int, ...] = ()

    def past(self, changes: Sequence[tuple[int, str]]) -> "Mark":
        """After reading these (id, time)."""
        at = max([self.at, *(time for _, time in changes)])
        seen = {id_ for id_, time in changes if time == at} | (set(self.seen) if at == self.at else set())
        return Mark(at, tuple(sorted(seen)))

    def has(self, id_: int, time: str) -> bool:
        """Whether this was read already."""
        return time == self.at and id_ in self.seen


@dataclass(frozen=True, slots=True)
class Progress:
    """Of the issues and of the comments of one repository."""

    issues: Mark = Mark()
    comments: Mark = Mark()


class Issues:
    """The issues and pull requests of one repository."""

    def __init__(self, api: Api, repository: Repository, progress: Progress) -> None:
        self._api = api
        self._repository = repository
        self.progress = progress

    async def complete(self, known: Known) -> AsyncIterator[list[Item]]:
        """Everything, the newest change first, by pages. All comments come from one list, kept on disk."""
        with spool() as comments:
            async for page in self._api.pages(f"{self._repository.path}/issues/comments"):
                comments.add((str(_number(c)), {key: c.get(key) for key in _KEPT}) for c in page)
                self._read_comments(page)
            listing = {"state": "all", "sort": "updated", "direction": "desc"}
            async for page in self._api.pages(f"{self._repository.path}/issues", **listing):
                self._read_issues(page)
                discussed = [comments.of(str(issue["number"])) for issue in page]
                versions = [
                    (self._id(issue["number"]), _version(issue, said))
                    for issue, said in zip(page, discussed, strict=True)
                ]
                wanted = await known.wanted(versions)
                yield [
                    self._item(issue, version, said)
                    for issue, said, (id_, version) in zip(page, discussed, versions, strict=True)
                    if id_ in wanted
                ]

    async def changed(self, known: Known) -> AsyncIterator[Item | Removed]:
        """What changed since `progress`. An edited comment may leave the time of its issue as it was."""
        before = self.progress
        numbers: dict[int, dict[str, Any] | None] = {}
        listing: dict[str, str] = {"sort": "updated", "direction": "asc"}
        place = f"{self._repository.path}/issues/comments"
        async for page in self._api.pages(place, **listing, **_since(before.comments)):
            self._read_comments(page)
            fresh = [c for c in page if not before.comments.has(c["id"], c["updated_at"])]
            numbers |= dict.fromkeys(map(_number, fresh))
        place = f"{self._repository.path}/issues"
        async for page in self._api.pages(place, state="all", **listing, **_since(before.issues)):
            self._read_issues(page)
            fresh = [i for i in page if not before.issues.has(i["number"], i["updated_at"])]
            numbers |= {issue["number"]: issue for issue in fresh}
        async for step in mapped(numbers.items(), self._fetched, _WIDTH):
            if isinstance(step, Removed) or await known.wanted([(step.id, step.version)]):
                yield step

    async def _fetched(self, entry: tuple[int, dict[str, Any] | None]) -> Item | Removed:
        number, issue = entry
        place = f"{self._repository.path}/issues/{number}"
        if issue is None:
            answer = await self._api.ask(place)
            if answer.status_code in {404, 410}:
                return Removed(self._id(number))
            issue = checked(answer)
        comments = []
        if issue["comments"]:
            comments = [comment async for page in self._api.pages(f"{place}/comments") for comment in page]
        return self._item(issue, _version(issue, comments), comments)

    def _read_issues(self, page: Sequence[dict[str, Any]]) -> None:
        read = [(issue["number"], issue["updated_at"]) for issue in page]
        self.progress = replace(self.progress, issues=self.progress.issues.past(read))

    def _read_comments(self, page: Sequence[dict[str, Any]]) -> None:
        read = [(comment["id"], comment["updated_at"]) for comment in page]
        self.progress = replace(self.progress, comments=self.progress.comments.past(read))

    def _id(self, number: int) -> str:
        return f"{self._repository.prefix}issues/{number}"

    def _item(self, issue: dict[str, Any], version: str, comments: Sequence[dict[str, Any]]) -> Item:
        metadata: Metadata = {
            "type": "pull_request" if "pull_request" in issue else "issue",
            "repository": self._repository.name,
            "number": issue["number"],
            "state": issue["state"],
            "author": _login(issue),
            "createdAt": issue["created_at"],
            "updatedAt": issue["updated_at"],
            "labels": [
                label if isinstance(label, str) else label.get("name") or "" for label in issue["labels"]
            ],
        }
        return Item(
            self._id(issue["number"]),
            version,
            issue["title"],
            text=markdown(issue, comments),
            url=issue["html_url"],
            metadata=metadata,
            date=datetime.fromisoformat(issue["updated_at"]),
        )


def markdown(issue: dict[str, Any], comments: Sequence[dict[str, Any]]) -> str:
    """The issue and what was said about it, in the order in which it was said."""
    parts = [f"# {issue['title']}", (issue["body"] or "").strip()]
    for comment in comments:
        body = (comment.get("body") or "").strip()
        parts.append(f"## {_login(comment)}, {comment['created_at'][:10]}\n\n{body}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _login(authored: dict[str, Any]) -> str:
    """Whose account is gone is GitHub's `ghost`."""
    return str((authored.get("user") or {}).get("login", "ghost"))


def _number(comment: dict[str, Any]) -> int:
    return int(comment["issue_url"].rsplit("/", 1)[1])


def _since(mark: Mark) -> dict[str, str]:
    return {"since": mark.at} if mark.at else {}


def _version(issue: dict[str, Any], comments: Sequence[dict[str, Any]]) -> str:
    newest = max((comment["updated_at"] for comment in comments), default="")
    return f"{issue['updated_at']} {issue['comments']} {newest}".strip()
