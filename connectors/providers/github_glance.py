"""One question about many repositories: how far each of them is. What did not move needs no other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connectors.errors import UnavailableError
from connectors.http import checked
from connectors.providers.github_api import Api

AT_ONCE: Final = 50
"""Repositories per question: one point of the hourly 5,000."""
_NEWEST: Final = "(first: 1, orderBy: {field: UPDATED_AT, direction: DESC}) { nodes { updatedAt } }"
_QUESTION: Final = f"""\
query($ids: [ID!]!) {{ nodes(ids: $ids) {{ ... on Repository {{
  id nameWithOwner defaultBranchRef {{ name target {{ oid }} }}
  issues{_NEWEST} pullRequests{_NEWEST}
}} }} }}"""


@dataclass(frozen=True, slots=True)
class Glance:
    """A repository now. No `branch` and `head` before its first commit; `changed`: its newest issue was."""

    name: str
    branch: str | None
    head: str | None
    changed: str


async def glances(api: Api, nodes: Sequence[str]) -> Mapping[str, Glance]:
    """By node id. What can't be told is left out: gone, not to be seen, or a server without GraphQL."""
    found: dict[str, Glance] = {}
    for start in range(0, len(nodes), AT_ONCE):
        try:
            answer = await api.question(_QUESTION, {"ids": list(nodes[start : start + AT_ONCE])})
        except UnavailableError:
            return {}
        if answer.status_code >= 400:
            return {}
        data: Mapping[str, Any] = checked(answer).get("data") or {}
        found |= {one["id"]: _glance(one) for one in data.get("nodes") or () if one}
    return found


def _glance(one: Mapping[str, Any]) -> Glance:
    ref = one["defaultBranchRef"] or {}
    target = ref.get("target") or {}
    discussed = [*(one["issues"]["nodes"] or ()), *(one["pullRequests"]["nodes"] or ())]
    newest = max((each["updatedAt"] for each in discussed if each), default="")
    return Glance(one["nameWithOwner"], ref.get("name"), target.get("oid"), newest)
