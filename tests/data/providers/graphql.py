"""Cut what the double needs out of GitHub's GraphQL schema.

npm pack @octokit/graphql-schema@15.26.1
python -m tests.data.providers.graphql <graphql-schema>/schema.graphql
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from graphql import (
    DocumentNode,
    EnumTypeDefinitionNode,
    NonNullTypeNode,
    ScalarTypeDefinitionNode,
    parse,
    print_ast,
)

OUT = Path(__file__).parent / "github.graphql"
HEAD = "# From npm @octokit/graphql-schema 15.26.1, MIT: what is asked, of types and arguments as published.\n\n"
NEWEST = ("first", "orderBy")
KEPT: Mapping[str, Mapping[str, Sequence[str]]] = {
    "Query": {"id": (), "nodes": ("ids",)},
    "Node": {"id": ()},
    "GitObject": {"id": (), "oid": ()},
    "Commit": {"id": (), "oid": ()},
    "Ref": {"id": (), "name": (), "target": ()},
    "Repository": {
        "id": (),
        "nameWithOwner": (),
        "defaultBranchRef": (),
        "issues": NEWEST,
        "pullRequests": (*NEWEST, "after"),
    },
    "IssueConnection": {"nodes": ()},
    "PullRequestConnection": {"nodes": (), "pageInfo": ()},
    "PageInfo": {"endCursor": (), "hasNextPage": ()},
    "Issue": {"id": (), "updatedAt": ()},
    "PullRequest": {"id": (), "number": (), "updatedAt": (), "reviews": ("first",)},
    "PullRequestReviewConnection": {"nodes": (), "totalCount": ()},
    "PullRequestReview": {
        "id": (),
        "author": (),
        "body": (),
        "fullDatabaseId": (),
        "state": (),
        "submittedAt": (),
        "updatedAt": (),
    },
    "Actor": {"login": ()},
    "User": {"id": (), "login": ()},
}
"""Fields and their arguments."""
WHOLE = {
    "BigInt",
    "DateTime",
    "GitObjectID",
    "IssueOrder",
    "IssueOrderField",
    "OrderDirection",
    "PullRequestReviewState",
}


def cut(document: DocumentNode) -> str:
    """The definitions that are kept, without prose, and of interfaces only kept ones."""
    named = [node_ for node_ in document.definitions if getattr(node_, "name", None)]
    return HEAD + "\n\n".join(
        print_ast(_bare(node_, KEPT.get(name)))
        for node_, name in ((node_, node_.name.value) for node_ in cast("list[Any]", named))
        if name in WHOLE or name in KEPT
    )


def _bare(node: Any, kept: Mapping[str, Sequence[str]] | None) -> Any:
    if isinstance(node, EnumTypeDefinitionNode):
        return replace(_plain(node), values=tuple(map(_plain, node.values or ())))
    if isinstance(node, ScalarTypeDefinitionNode):
        return _plain(node)
    if kept is None:
        return replace(_plain(node), fields=tuple(map(_plain, node.fields)))
    return replace(
        _plain(node),
        interfaces=tuple(node_ for node_ in node.interfaces or () if node_.name.value in KEPT),
        fields=tuple(_field(node_, kept[node_.name.value]) for node_ in node.fields if node_.name.value in kept),
    )


def _field(node: Any, kept: Sequence[str]) -> Any:
    """A field with the arguments that are kept; those that it can't do without have to be among them."""
    left = [
        node_.name.value
        for node_ in node.arguments or ()
        if isinstance(node_.type, NonNullTypeNode) and node_.name.value not in kept
    ]
    assert not left, f"{node.name.value} wants {left}"
    return replace(
        _plain(node), arguments=tuple(_plain(node_) for node_ in node.arguments or () if node_.name.value in kept)
    )


def _plain(node: Any) -> Any:
    return replace(node, description=None, directives=())


if __name__ == "__main__":
    OUT.write_text(cut(parse(Path(sys.argv[1]).read_text("utf-8"))) + "\n", "utf-8")
