"""Issues and pull requests, each with its discussion as one document."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from connectors.client.concurrent_map import map_concurrently
from connectors.client.http_client import json_or_raise
from connectors.providers.common.disk_buffer import open_disk_buffer
from connectors.providers.common.item_fetcher import ItemFetcher, item_response
from connectors.providers.github.client import GitHubClient, Repository
from connectors.sync_messages import FailedItem, RemovedItem, SourceItem, SyncState
from schemas.base import Metadata

_CONCURRENCY: Final = 8
_COMMENT_FIELDS: Final = ("id", "body", "created_at", "updated_at", "user")


@dataclass(frozen=True, slots=True)
class Watermark:
    """Position in a list ordered by change: the newest time read, and the ids with that time.

    GitHub's times have a resolution of a second and `since` is inclusive, so the last entries are listed again.
    """

    updated_at: str = ""
    ids: tuple[int, ...] = ()

    def advanced_by(self, changes: Sequence[tuple[int, str]]) -> "Watermark":
        """Return the watermark after reading these (id, time) pairs."""
        at = max([self.updated_at, *(time for _, time in changes)])
        seen = {id_ for id_, time in changes if time == at} | (set(self.ids) if at == self.updated_at else set())
        return Watermark(at, tuple(sorted(seen)))

    def covers(self, id_: int, time: str) -> bool:
        """Return whether an entry was read already."""
        return time == self.updated_at and id_ in self.ids


@dataclass(frozen=True, slots=True)
class IssueWatermarks:
    """Watermarks of a repository's issues and comments."""

    issues: Watermark = Watermark()
    comments: Watermark = Watermark()


class RepositoryIssues:
    """Sync of the issues and pull requests of one repository."""

    def __init__(
        self, client: GitHubClient, repository: Repository, watermarks: IssueWatermarks, fetcher: ItemFetcher
    ) -> None:
        self._client = client
        self._fetcher = fetcher
        self._repository = repository
        self.watermarks = watermarks

    async def sync_all(self, state: SyncState) -> AsyncIterator[list[SourceItem | FailedItem]]:
        """Yield pages of all issues, newest change first; comments come from one list buffered on disk."""
        with open_disk_buffer() as comments:
            async for page in self._client.pages(f"{self._repository.api_path}/issues/comments"):
                comments.add((str(_issue_number(c)), {key: c.get(key) for key in _COMMENT_FIELDS}) for c in page)
                self._advance_comment_watermark(page)
            listing = {"state": "all", "sort": "updated", "direction": "desc"}
            async for page in self._client.pages(f"{self._repository.api_path}/issues", **listing):
                self._advance_issue_watermark(page)
                discussed = [comments.group(str(issue["number"])) for issue in page]
                versions = [
                    (self._item_id(issue["number"]), _issue_version(issue, comments))
                    for issue, comments in zip(page, discussed, strict=True)
                ]
                changed_ids = await state.select_changed(versions)
                yield [
                    await self._item_or_failure(issue, version, comments)
                    for issue, comments, (id_, version) in zip(page, discussed, versions, strict=True)
                    if id_ in changed_ids
                ]

    async def sync_changed(
        self, state: SyncState, failed_numbers: Sequence[int] = ()
    ) -> AsyncIterator[SourceItem | RemovedItem | FailedItem]:
        """Yield issues changed since the watermarks, also those of which only a comment changed or that failed."""
        before = self.watermarks
        numbers: dict[int, dict[str, Any] | None] = dict.fromkeys(failed_numbers)
        listing: dict[str, str] = {"sort": "updated", "direction": "asc"}
        place = f"{self._repository.api_path}/issues/comments"
        async for page in self._client.pages(place, **listing, **_since_parameter(before.comments)):
            self._advance_comment_watermark(page)
            fresh = [c for c in page if not before.comments.covers(c["id"], c.get("updated_at") or "")]
            numbers |= dict.fromkeys(map(_issue_number, fresh))
        place = f"{self._repository.api_path}/issues"
        async for page in self._client.pages(place, state="all", **listing, **_since_parameter(before.issues)):
            self._advance_issue_watermark(page)
            fresh = [i for i in page if not before.issues.covers(i["number"], i.get("updated_at") or "")]
            numbers |= {issue["number"]: issue for issue in fresh}
        async for step in map_concurrently(numbers.items(), self._fetch_issue, _CONCURRENCY):
            if not isinstance(step, SourceItem) or await state.select_changed([(step.id, step.version)]):
                yield step

    async def _fetch_issue(self, entry: tuple[int, dict[str, Any] | None]) -> SourceItem | RemovedItem | FailedItem:
        number, issue = entry
        return await self._fetcher.fetch(
            self._item_id(number), (issue or {}).get("title"), lambda: self._read_issue(number, issue)
        )

    async def _read_issue(self, number: int, issue: dict[str, Any] | None) -> SourceItem | RemovedItem:
        place = f"{self._repository.api_path}/issues/{number}"
        if issue is None:
            answer = await self._client.get_response(place)
            if answer.status_code in {404, 410}:
                return RemovedItem(self._item_id(number))
            issue = json_or_raise(item_response(answer, "GitHub"))
        comments = []
        if issue.get("comments") != 0:  # a missing count is not zero
            comments = [comment async for page in self._client.pages(f"{place}/comments") for comment in page]
        return self._item(issue, _issue_version(issue, comments), comments)

    async def _item_or_failure(
        self, issue: dict[str, Any], version: str, comments: Sequence[dict[str, Any]]
    ) -> SourceItem | FailedItem:
        async def build() -> SourceItem:
            return self._item(issue, version, comments)

        return await self._fetcher.fetch(self._item_id(issue["number"]), issue.get("title"), build)

    def _advance_issue_watermark(self, page: Sequence[dict[str, Any]]) -> None:
        read = [(issue["number"], issue.get("updated_at") or "") for issue in page]
        self.watermarks = replace(self.watermarks, issues=self.watermarks.issues.advanced_by(read))

    def _advance_comment_watermark(self, page: Sequence[dict[str, Any]]) -> None:
        read = [(comment["id"], comment.get("updated_at") or "") for comment in page]
        self.watermarks = replace(self.watermarks, comments=self.watermarks.comments.advanced_by(read))

    def _item_id(self, number: int) -> str:
        return f"{self._repository.item_id_prefix}issues/{number}"

    def _item(self, issue: dict[str, Any], version: str, comments: Sequence[dict[str, Any]]) -> SourceItem:
        title = issue.get("title") or f"#{issue['number']}"
        updated_at = issue.get("updated_at")
        values = {
            "type": "pull_request" if issue.get("pull_request") else "issue",
            "repository": self._repository.full_name,
            "number": issue["number"],
            "state": issue.get("state"),
            "author": _author_login(issue),
            "createdAt": issue.get("created_at"),
            "updatedAt": updated_at,
            "labels": [
                label if isinstance(label, str) else label.get("name") or "" for label in issue.get("labels") or ()
            ],
        }
        metadata: Metadata = {name: value for name, value in values.items() if value is not None}
        return SourceItem(
            self._item_id(issue["number"]),
            version,
            title,
            text=issue_markdown(title, issue, comments),
            url=issue.get("html_url"),
            metadata=metadata,
            date=datetime.fromisoformat(updated_at) if updated_at else None,
        )


def issue_markdown(title: str, issue: dict[str, Any], comments: Sequence[dict[str, Any]]) -> str:
    """Render an issue and its comments in chronological order."""
    parts = [f"# {title}", (issue.get("body") or "").strip()]
    for comment in comments:
        body = (comment.get("body") or "").strip()
        day = f", {comment['created_at'][:10]}" if comment.get("created_at") else ""
        parts.append(f"## {_author_login(comment)}{day}\n\n{body}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _author_login(authored: dict[str, Any]) -> str:
    """Return the author's login; deleted accounts become GitHub's `ghost`."""
    return str((authored.get("user") or {}).get("login") or "ghost")


def _issue_number(comment: dict[str, Any]) -> int:
    return int(comment["issue_url"].rsplit("/", 1)[1])


def _since_parameter(mark: Watermark) -> dict[str, str]:
    return {"since": mark.updated_at} if mark.updated_at else {}


def _issue_version(issue: dict[str, Any], comments: Sequence[dict[str, Any]]) -> str:
    newest = max((comment.get("updated_at") or "" for comment in comments), default="")
    return f"{issue.get('updated_at') or ''} {issue.get('comments') or 0} {newest}".strip()
