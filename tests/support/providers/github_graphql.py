"""GitHub's GraphQL endpoint: its schema says what may be asked, and makes the answers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from graphql import DocumentNode, ExecutionResult, GraphQLSchema, build_schema, execute_sync, parse, validate

from tests.support.providers.api_description import DATA, DescriptionViolationError
from tests.support.providers.github_repository import Issue, RepositoryDouble, Review
from tests.support.providers.github_responses import format_time


@cache
def schema() -> GraphQLSchema:
    """The published schema."""
    return build_schema((DATA / "github.graphql").read_text("utf-8"))


def answer_query(body: Mapping[str, Any], repos: Iterable[RepositoryDouble]) -> dict[str, Any]:
    """The body of the answer to a question about these repositories. ViolationError for one that is none."""
    document = _validated(body["query"])
    nodes = {repo.node: _repository(repo) for repo in repos}
    root = {"nodes": lambda _, ids: [nodes.get(id_) for id_ in ids]}
    result = execute_sync(schema(), document, root, variable_values=dict(body["variables"]))
    if result.errors and result.data is None:
        raise DescriptionViolationError(f"GraphQL: {result.errors[0].message}")
    return _with_not_found_errors(result, body["variables"]["ids"], nodes.keys())


@cache
def _validated(query: str) -> DocumentNode:
    """Parse a query that the schema allows; the provider asks few, again and again."""
    document = parse(query)
    if wrong := validate(schema(), document):
        raise DescriptionViolationError(f"GraphQL: {wrong[0].message}")
    return document


def _with_not_found_errors(result: ExecutionResult, asked: Sequence[str], types: Iterable[str]) -> dict[str, Any]:
    """Add an error for each node that cannot be seen and is null in the data."""
    expected = set(types)
    errors = [
        {"type": "NOT_FOUND", "path": ["nodes", at], "message": f"Could not resolve to a node: {id_!r}."}
        for at, id_ in enumerate(asked)
        if id_ not in expected
    ]
    return {"data": result.data} | ({"errors": errors} if errors else {})


def _repository(repo: RepositoryDouble) -> dict[str, Any]:
    head = {"__typename": "Commit", "id": repo.node, "oid": repo.head.sha} if repo.commits else None
    return {
        "__typename": "Repository",
        "id": repo.node,
        "nameWithOwner": repo.full_name,
        "defaultBranchRef": None if head is None else {"id": "", "name": repo.branch, "target": head},
        "issues": _newest_connection([issue for issue in repo.issues.values() if not issue.pull]),
        "pullRequests": _newest_connection([issue for issue in repo.issues.values() if issue.pull]),
    }


def _newest_connection(issues: Sequence[Issue]) -> Callable[..., dict[str, Any]]:
    def connection(
        _: Any,
        *,
        first: int,
        orderBy: Mapping[str, str],  # noqa: N803 - theirs
        after: str | None = None,
    ) -> dict[str, Any]:
        assert orderBy == {"field": "UPDATED_AT", "direction": "DESC"}
        ordered = sorted(issues, key=lambda issue: issue.updated_at, reverse=True)
        start = int(after or 0)
        return {
            "nodes": [_issue_node(issue) for issue in ordered[start : start + first]],
            "pageInfo": {"endCursor": str(start + first), "hasNextPage": start + first < len(ordered)},
        }

    return connection


def _issue_node(issue: Issue) -> dict[str, Any]:
    def reviews(_: Any, *, first: int) -> dict[str, Any]:
        return {"nodes": [_review_node(review) for review in issue.reviews[:first]], "totalCount": len(issue.reviews)}

    return {"id": "", "number": issue.number, "updatedAt": format_time(issue.updated_at), "reviews": reviews}


def _review_node(review: Review) -> dict[str, Any]:
    return {
        "id": "",
        "author": {"__typename": "User", "id": "", "login": review.author},
        "body": review.body,
        "fullDatabaseId": str(review.id),
        "state": review.state,
        "submittedAt": format_time(review.submitted_at),
        "updatedAt": format_time(review.updated_at),
    }
