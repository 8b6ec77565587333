"""GitHub's GraphQL endpoint: its schema says what may be asked, and makes the answers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from graphql import ExecutionResult, GraphQLSchema, build_schema, execute_sync, parse, validate

from tests.connectors.doubles.github_bodies import time
from tests.connectors.doubles.github_world import Issue, Repo
from tests.connectors.doubles.judge import DATA, ViolationError


@cache
def schema() -> GraphQLSchema:
    """As it was published."""
    return build_schema((DATA / "github.graphql").read_text("utf-8"))


def answered(body: Mapping[str, Any], repos: Iterable[Repo]) -> dict[str, Any]:
    """The body of the answer to a question about these repositories. ViolationError for one that is none."""
    document = parse(body["query"])
    if wrong := validate(schema(), document):
        raise ViolationError(f"GraphQL: {wrong[0].message}")
    nodes = {repo.node: _repository(repo) for repo in repos}
    root = {"nodes": lambda _, ids: [nodes.get(one) for one in ids]}
    result = execute_sync(schema(), document, root, variable_values=dict(body["variables"]))
    if result.errors and result.data is None:
        raise ViolationError(f"GraphQL: {result.errors[0].message}")
    return _missing(result, body["variables"]["ids"], nodes.keys())


def _missing(result: ExecutionResult, asked: Sequence[str], known: Iterable[str]) -> dict[str, Any]:
    """What can't be seen is null, and said so beside the data."""
    told = set(known)
    errors = [
        {"type": "NOT_FOUND", "path": ["nodes", at], "message": f"Could not resolve to a node: {one!r}."}
        for at, one in enumerate(asked)
        if one not in told
    ]
    return {"data": result.data} | ({"errors": errors} if errors else {})


def _repository(repo: Repo) -> dict[str, Any]:
    head = {"__typename": "Commit", "id": repo.node, "oid": repo.head.sha} if repo.commits else None
    return {
        "__typename": "Repository",
        "id": repo.node,
        "nameWithOwner": repo.full_name,
        "defaultBranchRef": None if head is None else {"id": "", "name": repo.branch, "target": head},
        "issues": _newest([issue for issue in repo.issues.values() if not issue.pull]),
        "pullRequests": _newest([issue for issue in repo.issues.values() if issue.pull]),
    }


def _newest(issues: Sequence[Issue]) -> Callable[..., dict[str, Any]]:
    def connection(_: Any, *, first: int, orderBy: Mapping[str, str]) -> dict[str, Any]:  # noqa: N803 - theirs
        assert orderBy == {"field": "UPDATED_AT", "direction": "DESC"}
        ordered = sorted(issues, key=lambda issue: issue.changed, reverse=True)
        return {"nodes": [{"id": "", "updatedAt": time(issue.changed)} for issue in ordered[:first]]}

    return connection
