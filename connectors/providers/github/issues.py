"""Sync of issues and pull requests, each with its discussion as one document; watermarks tell what changed."""

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal

from connectors.client.concurrent_map import map_concurrently
from connectors.client.json_answers import json_or_raise
from connectors.errors import ProviderUnavailableError, UnexpectedAnswerError
from connectors.providers.common.disk_buffer import DiskBuffer, open_disk_buffer
from connectors.providers.common.item_fetcher import MALFORMED_ANSWER_ERRORS, ItemFetcher, item_response
from connectors.providers.github.client import GitHubClient, Repository
from connectors.providers.github.reviews import (
    PullDiscussion,
    discussion_sections,
    fetch_discussion,
    fetch_review_page,
    heading,
    line_comment,
    pull_number,
)
from connectors.sync_messages import FailedItem, RemovedItem, SourceItem, SyncState
from schemas.base import without_none

_CONCURRENCY: Final = 8
_ListName = Literal["comments", "reviews", "line_comments"]
BufferEntry = tuple[str, dict[str, Any]]
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_COMMENT_FIELDS: Final = ("id", "body", "created_at", "updated_at", "user")


@dataclass(frozen=True, slots=True)
class Watermark:
    """Position in a list ordered by change: the newest time read, and the ids with that time.

    GitHub's times have a resolution of a second and `since` is inclusive, so the last entries are listed again.
    """

    updated_at: str = ""
    ids: tuple[int, ...] = ()

    def advanced_by(self, changes: Sequence[tuple[int, str]]) -> "Watermark":
        """Return the watermark after reading these (id, time) pairs; what is not a time does not move it."""
        at = max([self.updated_at, *(time for _, time in changes if _TIME.fullmatch(time))])
        seen = {id_ for id_, time in changes if time == at} | (set(self.ids) if at == self.updated_at else set())
        return Watermark(at, tuple(sorted(seen)))

    def covers(self, id_: int, time: str) -> bool:
        """Return whether an entry was read already."""
        return time == self.updated_at and id_ in self.ids

    def precedes(self, entry: Mapping[str, Any]) -> bool:
        """Return whether an entry of a list that is not ordered by change was not read yet."""
        return entry["updated_at"] >= self.updated_at and not self.covers(entry["id"], entry["updated_at"])


@dataclass(frozen=True, slots=True)
class IssueWatermarks:
    """Watermarks of a repository's lists; of a repository without pull requests, their lists are not read."""

    issues: Watermark = Watermark()
    comments: Watermark = Watermark()
    reviews: Watermark = Watermark()
    line_comments: Watermark = Watermark()
    has_pull_requests: bool = True


@dataclass(frozen=True, slots=True)
class Discussed:
    """Issue or pull request with its comments; with `discussion` None it has to be read by itself."""

    issue: dict[str, Any]
    comments: Sequence[dict[str, Any]]
    discussion: PullDiscussion | None

    @classmethod
    def from_buffer(cls, issue: dict[str, Any], buffer: DiskBuffer, lists: "ListedNumbers") -> "Discussed":
        if not lists.cover(issue):
            return cls(issue, (), None)
        comments, number = buffer.group(str(issue["number"])), issue["number"]
        return cls(issue, comments, PullDiscussion(buffer.group(f"{number}/reviews"), buffer.group(f"{number}/lines")))

    @property
    def version(self) -> str:
        """Version by times, and by content where there are none."""
        newest = max((comment.get("updated_at") or "" for comment in self.comments), default="")
        content = self.discussion.version if self.discussion else ""
        return f"{self.issue.get('updated_at') or ''} {self.issue.get('comments') or 0} {newest} {content}".strip()


@dataclass(frozen=True, slots=True)
class ListedNumbers:
    """Coverage of the lists of comments; `unlisted_pulls` None: of no pull request they have the reviews."""

    has_comments: bool
    unlisted_pulls: set[int] | None

    def cover(self, issue: Mapping[str, Any]) -> bool:
        """Return whether nothing of an issue has to be read by itself."""
        if not self.has_comments and issue.get("comments") != 0:  # a missing count is not zero
            return False
        is_unlisted = self.unlisted_pulls is None or issue["number"] in self.unlisted_pulls
        return not (issue.get("pull_request") and is_unlisted)


@dataclass(slots=True)
class RepositoryIssues:
    client: GitHubClient
    repository: Repository
    watermarks: IssueWatermarks
    fetcher: ItemFetcher

    async def sync_all(self, state: SyncState) -> AsyncIterator[list[SourceItem | RemovedItem | FailedItem]]:
        """Yield pages of all issues, newest change first; what belongs to them is listed before, buffered on disk."""
        with open_disk_buffer() as buffer:
            has_comments = await self._buffer_list(buffer, "issues/comments", "comments", _buffered_comment)
            lists = ListedNumbers(has_comments, await self._list_reviews(buffer))
            self.watermarks = replace(self.watermarks, has_pull_requests=False)
            listing = {"state": "all", "sort": "updated", "direction": "desc"}
            async for page in self.client.pages(f"{self.repository.api_path}/issues", **listing):
                self._advance_issues(page)
                listed = [Discussed.from_buffer(issue, buffer, lists) for issue in page]
                versions = [(self._item_id(each.issue["number"]), each.version) for each in listed]
                changed_ids = await state.select_changed(versions)
                yield [
                    await self._item_or_failure(each)
                    for each, (id_, _) in zip(listed, versions, strict=True)
                    if id_ in changed_ids
                ]

    async def _list_reviews(self, buffer: DiskBuffer) -> set[int] | None:
        """Buffer reviews and line comments; return pull requests with more, None if they can't be listed now."""
        unlisted: set[int] = set()
        cursor: str | None = None
        while page := await fetch_review_page(self.client, self.repository.node_id, cursor):
            if not page.pulls:
                return unlisted
            for pull in page.pulls:
                buffer.add((f"{pull.number}/reviews", review) for review in pull.reviews)
                unlisted |= set() if pull.is_complete else {pull.number}
                self._advance("reviews", pull.reviews)
            cursor = page.next_cursor
            if cursor is None:
                are_listed = await self._buffer_list(buffer, "pulls/comments", "line_comments", _buffered_line_comment)
                return unlisted if are_listed else None
        return None

    async def _buffer_list(
        self, buffer: DiskBuffer, kind: str, watermark: _ListName, entry: Callable[[dict[str, Any]], BufferEntry]
    ) -> bool:
        """Buffer a list; return False if it can't be read: then each issue is read by itself and tells why."""
        try:
            async for page in self.client.pages(f"{self.repository.api_path}/{kind}"):
                buffer.add(map(entry, page))
                self._advance(watermark, page)
        except (ProviderUnavailableError, UnexpectedAnswerError, *MALFORMED_ANSWER_ERRORS):
            return False
        return True

    async def sync_changed(
        self, state: SyncState, failed_numbers: Sequence[int] = ()
    ) -> AsyncIterator[SourceItem | RemovedItem | FailedItem]:
        """Yield issues changed since the watermarks, also those of which only a comment changed or that failed."""
        before = self.watermarks
        numbers: dict[int, dict[str, Any] | None] = dict.fromkeys(failed_numbers)
        numbers |= dict.fromkeys(
            [_issue_number(c) async for c in self._changed_comments("issues/comments", "comments", before.comments)]
        )
        if before.has_pull_requests:
            numbers |= dict.fromkeys(await self._changed_reviews(before))
        place = f"{self.repository.api_path}/issues"
        listing = {"state": "all", "sort": "updated", "direction": "asc", **_since_parameter(before.issues)}
        async for page in self.client.pages(place, **listing):
            self._advance_issues(page)
            fresh = [i for i in page if not before.issues.covers(i["number"], i.get("updated_at") or "")]
            numbers |= {issue["number"]: issue for issue in fresh}
        async for step in map_concurrently(numbers.items(), self._fetch_issue, _CONCURRENCY):
            if not isinstance(step, SourceItem) or await state.select_changed([(step.id, step.version)]):
                yield step

    async def _changed_comments(
        self, kind: str, watermark: _ListName, before: Watermark
    ) -> AsyncIterator[dict[str, Any]]:
        """Iterate the comments changed since a watermark, oldest change first."""
        listing: dict[str, str] = {"sort": "updated", "direction": "asc", **_since_parameter(before)}
        async for page in self.client.pages(f"{self.repository.api_path}/{kind}", **listing):
            self._advance(watermark, page)
            for comment in page:
                if not before.covers(comment["id"], comment.get("updated_at") or ""):
                    yield comment

    async def _changed_reviews(self, before: IssueWatermarks) -> set[int]:
        """Return pull requests of which a review or a line comment changed.

        Reviews have no list by time: those of the pull requests changed most recently are compared. Where the
        account may read neither, the pull requests themselves fail with the reason.
        """
        numbers: set[int] = set()
        if page := await fetch_review_page(self.client, self.repository.node_id, None):
            for pull in page.pulls:
                self._advance("reviews", pull.reviews)
                numbers |= {pull.number for review in pull.reviews if before.reviews.precedes(review)}
        with suppress(UnexpectedAnswerError):
            lines = self._changed_comments("pulls/comments", "line_comments", before.line_comments)
            numbers |= {pull_number(comment) async for comment in lines}
        return numbers

    async def _fetch_issue(self, entry: tuple[int, dict[str, Any] | None]) -> SourceItem | RemovedItem | FailedItem:
        number, issue = entry
        return await self.fetcher.fetch(
            self._item_id(number), (issue or {}).get("title"), lambda: self._read_issue(number, issue)
        )

    async def _read_issue(self, number: int, issue: dict[str, Any] | None) -> SourceItem | RemovedItem:
        place = f"{self.repository.api_path}/issues/{number}"
        if issue is None:
            answer = await self.client.get_response(place)
            if answer.status_code in {404, 410}:
                return RemovedItem(self._item_id(number))
            issue = json_or_raise(item_response(answer, "GitHub"))
        comments = []
        if issue.get("comments") != 0:  # a missing count is not zero
            comments = [comment async for page in self.client.pages(f"{place}/comments") for comment in page]
        discussion = PullDiscussion()
        if issue.get("pull_request"):
            discussion = await fetch_discussion(self.client, self.repository.api_path, number)
        return self._item(Discussed(issue, comments, discussion))

    async def _item_or_failure(self, listed: Discussed) -> SourceItem | RemovedItem | FailedItem:
        number = listed.issue["number"]

        async def build() -> SourceItem | RemovedItem:
            if listed.discussion is None:
                return await self._read_issue(number, listed.issue)
            return self._item(listed)

        return await self.fetcher.fetch(self._item_id(number), listed.issue.get("title"), build)

    def _advance_issues(self, page: Sequence[dict[str, Any]]) -> None:
        read = [(issue["number"], issue.get("updated_at") or "") for issue in page]
        has_pull_requests = self.watermarks.has_pull_requests or any(issue.get("pull_request") for issue in page)
        issues = self.watermarks.issues.advanced_by(read)
        self.watermarks = replace(self.watermarks, issues=issues, has_pull_requests=has_pull_requests)

    def _advance(self, watermark: _ListName, page: Sequence[dict[str, Any]]) -> None:
        read = [(comment["id"], comment.get("updated_at") or "") for comment in page]
        before: Watermark = getattr(self.watermarks, watermark)
        change: dict[str, Any] = {watermark: before.advanced_by(read)}
        self.watermarks = replace(self.watermarks, **change)

    def _item_id(self, number: int) -> str:
        return f"{self.repository.item_id_prefix}issues/{number}"

    def _item(self, discussed: Discussed) -> SourceItem:
        issue = discussed.issue
        title = issue.get("title") or f"#{issue['number']}"
        updated_at = issue.get("updated_at")
        metadata = without_none(
            type="pull_request" if issue.get("pull_request") else "issue",
            repository=self.repository.full_name,
            number=issue["number"],
            state=issue.get("state"),
            author=str((issue.get("user") or {}).get("login") or "ghost"),
            createdAt=issue.get("created_at"),
            updatedAt=updated_at,
            labels=[
                label if isinstance(label, str) else label.get("name") or "" for label in issue.get("labels") or ()
            ],
        )
        return SourceItem(
            self._item_id(issue["number"]),
            discussed.version,
            title,
            text=issue_markdown(title, discussed),
            url=issue.get("html_url"),
            metadata=metadata,
            date=datetime.fromisoformat(updated_at) if updated_at else None,
        )


def issue_markdown(title: str, discussed: Discussed) -> str:
    """Render an issue, its comments and the reviews of a pull request in chronological order."""
    sections = [
        (comment.get("created_at") or "", f"## {heading(comment)}\n\n{(comment.get('body') or '').strip()}")
        for comment in discussed.comments
    ]
    if reviewed := discussion_sections(discussed.discussion or PullDiscussion()):
        sections = sorted([*sections, *reviewed], key=lambda section: section[0])
    parts = [f"# {title}", (discussed.issue.get("body") or "").strip(), *(text for _, text in sections)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _issue_number(comment: dict[str, Any]) -> int:
    return int(comment["issue_url"].rsplit("/", 1)[1])


def _buffered_comment(comment: dict[str, Any]) -> BufferEntry:
    return str(_issue_number(comment)), {key: comment.get(key) for key in _COMMENT_FIELDS}


def _buffered_line_comment(comment: dict[str, Any]) -> BufferEntry:
    return f"{pull_number(comment)}/lines", line_comment(comment)


def _since_parameter(mark: Watermark) -> dict[str, str]:
    return {"since": mark.updated_at} if mark.updated_at else {}
