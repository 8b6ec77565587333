"""Query of the heads of many repositories at once, to skip those without changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connectors.client.json_answers import json_object
from connectors.errors import ProviderUnavailableError
from connectors.providers.github.client import GitHubClient

REPOSITORIES_PER_QUERY: Final = 50
"""Repositories per query, which costs one point of the hourly 5,000."""
_NEWEST_UPDATE: Final = "(first: 1, orderBy: {field: UPDATED_AT, direction: DESC}) { nodes { updatedAt } }"
_QUERY: Final = f"""\
query($ids: [ID!]!) {{ nodes(ids: $ids) {{ ... on Repository {{
  id nameWithOwner defaultBranchRef {{ name target {{ oid }} }}
  issues{_NEWEST_UPDATE} pullRequests{_NEWEST_UPDATE}
}} }} }}"""


@dataclass(frozen=True, slots=True)
class RepositoryHead:
    """Current state of a repository; without commits it has no `branch` and `head`."""

    full_name: str
    branch: str | None
    head: str | None
    issues_updated_at: str


async def fetch_heads(client: GitHubClient, node_ids: Sequence[str]) -> Mapping[str, RepositoryHead]:
    """Fetch heads by node id; inaccessible repositories are left out, all on a server without GraphQL."""
    found: dict[str, RepositoryHead] = {}
    for start in range(0, len(node_ids), REPOSITORIES_PER_QUERY):
        try:
            answer = await client.graphql(_QUERY, {"ids": list(node_ids[start : start + REPOSITORIES_PER_QUERY])})
        except ProviderUnavailableError:
            return {}
        if answer.status_code >= 400:
            return {}
        data = json_object(answer).get("data") or {}
        found |= {node["id"]: _parse_head(node) for node in data.get("nodes") or () if node}
    return found


def _parse_head(node: Mapping[str, Any]) -> RepositoryHead:
    ref = node["defaultBranchRef"] or {}
    target = ref.get("target") or {}
    discussed = [*(node["issues"]["nodes"] or ()), *(node["pullRequests"]["nodes"] or ())]
    newest = max((each["updatedAt"] for each in discussed if each), default="")
    return RepositoryHead(node["nameWithOwner"], ref.get("name"), target.get("oid"), newest)
