"""Reviews and line comments of pull requests.

Line comments are listed for a whole repository. Reviews are so in GraphQL only, where they also have the time of
their last edit; the REST API has those of a single pull request.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connectors.client.json_answers import json_or_raise
from connectors.errors import ProviderUnavailableError
from connectors.providers.common.file_metadata import version_hash
from connectors.providers.common.item_fetcher import MALFORMED_ANSWER_ERRORS
from connectors.providers.github.client import GitHubClient

PULLS_PER_QUERY: Final = 50
_REVIEWS_PER_PULL: Final = 100
_QUERY: Final = f"""\
query($ids: [ID!]!, $after: String) {{ nodes(ids: $ids) {{ ... on Repository {{
  pullRequests(first: {PULLS_PER_QUERY}, after: $after, orderBy: {{ field: UPDATED_AT, direction: DESC }}) {{
    pageInfo {{ hasNextPage endCursor }}
    nodes {{ number reviews(first: {_REVIEWS_PER_PULL}) {{ totalCount nodes {{
      fullDatabaseId body state submittedAt updatedAt author {{ __typename login }}
    }} }} }}
  }}
}} }} }}"""
_LINE_COMMENT_FIELDS: Final = (
    "id", "pull_request_review_id", "in_reply_to_id", "path", "line", "start_line", "original_line",
    "original_start_line", "body", "created_at", "updated_at",
)  # fmt: skip
_MAX_QUOTED_LINES: Final = 12
_VERDICTS: Final = {
    "APPROVED": "approved",
    "CHANGES_REQUESTED": "requested changes",
    "COMMENTED": "reviewed",
    "DISMISSED": "reviewed (dismissed)",
}
"""States of submitted reviews; a pending one is a draft, which only its author sees."""


@dataclass(frozen=True, slots=True)
class PullReviews:
    """Reviews of a pull request; without all of them it has to be read by itself."""

    number: int
    reviews: Sequence[dict[str, Any]]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """Reviews of a page of pull requests, most recently changed first."""

    pulls: Sequence[PullReviews]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class PullDiscussion:
    reviews: Sequence[dict[str, Any]] = ()
    line_comments: Sequence[dict[str, Any]] = ()

    @property
    def version(self) -> str:
        """Hash of the whole content, as reviews in the REST API have no time of an edit; "" if it is empty."""
        contents = [_without_edit_time(review) for review in self.reviews], list(self.line_comments)
        return version_hash(json.dumps(contents, sort_keys=True)) if any(contents) else ""


async def fetch_review_page(client: GitHubClient, repository_node_id: str, after: str | None) -> ReviewPage | None:
    """Fetch reviews by GraphQL; None if it gives no usable answer, as on servers without it."""
    try:
        answer = await client.graphql(_QUERY, {"ids": [repository_node_id], "after": after})
        return _review_page(json_or_raise(answer)["data"]) if answer.status_code < 400 else None
    except (ProviderUnavailableError, *MALFORMED_ANSWER_ERRORS):
        return None


def _review_page(data: Mapping[str, Any]) -> ReviewPage:
    listing = data["nodes"][0]["pullRequests"]
    page_info = listing["pageInfo"]
    pulls = [_pull_reviews(pull) for pull in listing["nodes"]]
    return ReviewPage(pulls, page_info["endCursor"] if page_info["hasNextPage"] else None)


def _pull_reviews(pull: Mapping[str, Any]) -> PullReviews:
    listed = pull["reviews"]["nodes"]
    reviews = [_graphql_review(review) for review in listed if review["state"] in _VERDICTS]
    return PullReviews(pull["number"], reviews, pull["reviews"]["totalCount"] <= len(listed))


def _graphql_review(review: Mapping[str, Any]) -> dict[str, Any]:
    author = review["author"] or {}
    suffix = "[bot]" if author.get("__typename") == "Bot" else ""  # part of the login in the REST API only
    return {
        "id": int(review["fullDatabaseId"]),
        "body": review["body"],
        "state": review["state"],
        "created_at": review["submittedAt"],
        "updated_at": review["updatedAt"],
        "user": {"login": f"{author['login']}{suffix}" if author.get("login") else None},
    }


async def fetch_discussion(client: GitHubClient, api_path: str, number: int) -> PullDiscussion:
    """Fetch the reviews and line comments of one pull request by the REST API."""
    place = f"{api_path}/pulls/{number}"
    reviews = [_rest_review(each) async for page in client.pages(f"{place}/reviews") for each in page]
    lines = [line_comment(each) async for page in client.pages(f"{place}/comments") for each in page]
    return PullDiscussion([review for review in reviews if review["state"] in _VERDICTS], lines)


def _rest_review(review: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: review.get(name) for name in ("id", "body", "state")}
    return {**kept, "created_at": review.get("submitted_at"), "user": _author(review)}


def line_comment(comment: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what a document shows of a line comment."""
    kept = {name: comment.get(name) for name in _LINE_COMMENT_FIELDS}
    kept["code"] = (comment.get("diff_hunk") or "").split("\n")[-_MAX_QUOTED_LINES:]
    return {**kept, "user": _author(comment)}


def pull_number(comment: Mapping[str, Any]) -> int:
    """Return the number of a line comment's pull request."""
    return int(comment["pull_request_url"].rsplit("/", 1)[1])


def discussion_sections(discussion: PullDiscussion) -> list[tuple[str, str]]:
    """Render reviews, each with the threads begun in it, as (time, Markdown); replies stand in their thread."""
    threads = _threads(discussion.line_comments)
    by_review: dict[int | None, list[list[dict[str, Any]]]] = {}
    for thread in threads:
        by_review.setdefault(thread[0].get("pull_request_review_id"), []).append(thread)
    sections = []
    for review in discussion.reviews:
        begun = by_review.pop(review["id"], [])
        body = (review.get("body") or "").strip()
        if body or begun or review["state"] != "COMMENTED":  # a lone reply makes an empty review
            head = f"## {heading(review, _VERDICTS[review['state']])}"
            parts = [head, body, *map(_thread_markdown, begun)]
            sections.append((review.get("created_at") or "", "\n\n".join(filter(None, parts))))
    for left in by_review.values():
        sections += [(thread[0].get("created_at") or "", "#" + _thread_markdown(thread)[2:]) for thread in left]
    return sections


def heading(authored: Mapping[str, Any], verb: str = "") -> str:
    """Render the author, what they did, and the day; deleted accounts become GitHub's `ghost`."""
    login = str((authored.get("user") or {}).get("login") or "ghost")
    day = f", {authored['created_at'][:10]}" if authored.get("created_at") else ""
    return f"{login} {verb}".rstrip() + day


def _threads(comments: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Group line comments by the first one of their thread, in the order of their ids, which is that of time."""
    threads: dict[int, list[dict[str, Any]]] = {}
    for comment in sorted(comments, key=lambda comment: int(comment["id"])):
        threads.setdefault(comment.get("in_reply_to_id") or comment["id"], []).append(comment)
    return list(threads.values())


def _thread_markdown(thread: Sequence[dict[str, Any]]) -> str:
    first = thread[0]
    start, end = _line_range(first)
    at = "" if end is None else f", line {end}" if start == end else f", lines {start}-{end}"
    parts = [f"### {first.get('path') or 'A file'}{at}"]
    if end is not None:
        code = "\n".join(first["code"][-(end - (start or end) + 1) :])
        parts += [f"```diff\n{code}\n```"] if code.strip() else []
    parts += [f"#### {heading(comment)}\n\n{(comment.get('body') or '').strip()}" for comment in thread]
    return "\n\n".join(parts)


def _line_range(comment: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the first and last line; those of the original commit if the code has changed since."""
    end = comment.get("line")
    start = comment.get("start_line")
    if end is None:
        end, start = comment.get("original_line"), comment.get("original_start_line")
    return (end if start is None else start), end


def _author(authored: Mapping[str, Any]) -> dict[str, Any]:
    return {"login": (authored.get("user") or {}).get("login")}


def _without_edit_time(review: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in review.items() if name != "updated_at"}
