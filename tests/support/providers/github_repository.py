"""Repositories that change: commits, forced pushes, issues, comments."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha1
from itertools import count
from typing import Any, Protocol


class GitHubClock(Protocol):
    """A repository's host: its clock and its id sequence."""

    numbers: "count[int]"

    def advance_clock(self) -> datetime:
        """Let time pass."""
        ...


def _sha(kind: str, data: bytes) -> str:
    return sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class Commit:
    """A commit and the files of its tree: path to (mode, blob)."""

    sha: str
    tree: str
    files: Mapping[str, tuple[str, str]]
    parents: tuple[str, ...]
    author: str
    message: str
    committed_at: datetime


@dataclass
class Comment:
    id: int
    author: str
    body: str
    created_at: datetime
    updated_at: datetime


@dataclass
class Review:
    """A submitted review; its text may be edited, which shows in `updated_at` alone."""

    id: int
    author: str
    body: str
    state: str
    submitted_at: datetime
    updated_at: datetime


@dataclass
class LineComment(Comment):
    """A comment on lines of a file in a review; `line` None: the code has changed since."""

    review: int
    path: str
    code: str
    line: int | None
    start_line: int | None
    original_line: int | None
    reply_to: int | None


@dataclass
class Issue:
    number: int
    title: str
    body: str | None
    author: str
    created_at: datetime
    updated_at: datetime
    pull: bool = False
    state: str = "open"
    labels: tuple[str, ...] = ()
    comments: list[Comment] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    line_comments: list[LineComment] = field(default_factory=list)


@dataclass
class RepositoryDouble:
    """A repository that can be changed. Paths map to text; None takes a file away."""

    github: GitHubClock
    id: int
    owner: str
    name: str
    branch: str = "main"
    branches: dict[str, str] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    trees: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    hooks: dict[int, dict[str, Any]] = field(default_factory=dict)
    webhook_secrets: dict[int, str] = field(default_factory=dict)
    """Signing secret of each hook's deliveries."""
    admin: bool = True
    archive_excluded: set[str] = field(default_factory=set)
    """Paths that `export-ignore` keeps out of archives."""

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def node(self) -> str:
        """Node id in GraphQL."""
        return f"R_{self.id}"

    @property
    def head(self) -> Commit:
        return self.commits[self.branches[self.branch]]

    def commit(
        self,
        changes: Mapping[str, str | bytes | None],
        *,
        author: str = "ada",
        branch: str | None = None,
        message: str = "Change",
        base: str | None = "tip",
        mode: str = "100644",
    ) -> Commit:
        """A commit on a branch; `base` None begins anew, as a forced push of another history does."""
        branch = branch or self.branch
        parent = self.commits.get(self.branches.get(branch, "")) if base == "tip" else None
        files = dict(parent.files) if parent else {}
        for path, content in changes.items():
            if content is None:
                del files[path]
            else:
                data = content.encode() if isinstance(content, str) else content
                blob = _sha("blob", data)
                self.blobs[blob] = data
                files[path] = (mode, blob)
        at = self.github.advance_clock()
        tree = self._store_tree(files)
        parents = (parent.sha,) if parent else ()
        sha = _sha("commit", f"{tree}{parents}{at}{message}{next(self.github.numbers)}".encode())
        commit = Commit(sha, tree, files, parents, author, message, at)
        self.commits[sha] = commit
        self.branches[branch] = sha
        return commit

    def _store_tree(self, files: Mapping[str, tuple[str, str]]) -> str:
        """Store a tree and the trees within it."""
        folders: dict[str, dict[str, tuple[str, str]]] = {}
        entries: list[dict[str, Any]] = []
        for path, (mode, blob) in files.items():
            head, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(head, {})[rest] = (mode, blob)
            else:
                kind = "commit" if mode == "160000" else "blob"
                size = {"size": len(self.blobs[blob])} if kind == "blob" else {}
                entries.append({"path": head, "mode": mode, "type": kind, "sha": blob, **size})
        for name, inside in folders.items():
            entries.append({"path": name, "mode": "040000", "type": "tree", "sha": self._store_tree(inside)})
        entries.sort(key=lambda entry: entry["path"])
        sha = _sha("tree", json.dumps(entries).encode())
        self.trees[sha] = entries
        return sha

    def tree_entries(self, tree: str, prefix: str = "", *, deep: bool) -> Iterable[dict[str, Any]]:
        """The entries of a tree, and those of the trees within."""
        for entry in self.trees[tree]:
            yield {**entry, "path": prefix + entry["path"]}
            if deep and entry["type"] == "tree":
                yield from self.tree_entries(entry["sha"], f"{prefix}{entry['path']}/", deep=True)

    def open(
        self,
        title: str,
        body: str | None = "",
        *,
        author: str = "ada",
        pull: bool = False,
        labels: tuple[str, ...] = (),
    ) -> Issue:
        at = self.github.advance_clock()
        issue = Issue(len(self.issues) + 1, title, body, author, at, at, pull, labels=labels)
        self.issues[issue.number] = issue
        return issue

    def edit(self, issue: Issue, **changes: Any) -> None:
        for name, value in changes.items():
            setattr(issue, name, value)
        issue.updated_at = self.github.advance_clock()

    def comment(self, issue: Issue, body: str, author: str = "bob") -> Comment:
        at = self.github.advance_clock()
        comment = Comment(next(self.github.numbers), author, body, at, at)
        issue.comments.append(comment)
        issue.updated_at = at
        return comment

    def review(self, issue: Issue, body: str = "", state: str = "COMMENTED", author: str = "eve") -> Review:
        at = self.github.advance_clock()
        review = Review(next(self.github.numbers), author, body, state, at, at)
        issue.reviews.append(review)
        issue.updated_at = at
        return review

    def comment_line(
        self,
        issue: Issue,
        review: Review,
        body: str,
        *,
        path: str = "src/app.py",
        code: str = "@@ -1,2 +1,2 @@\n import os\n+print(1)",
        line: int | None = 2,
        start_line: int | None = None,
        reply_to: LineComment | None = None,
    ) -> LineComment:
        at = self.github.advance_clock()
        first = None if reply_to is None else reply_to.id
        comment = LineComment(
            next(self.github.numbers), review.author, body, at, at, review.id, path, code, line, start_line,
            line or 2, first,
        )  # fmt: skip
        issue.line_comments.append(comment)
        issue.updated_at = at
        return comment

    def edit_comment(self, comment: Comment | Review, body: str) -> None:
        """Edit a comment or a review; only its own time moves."""
        comment.body = body
        comment.updated_at = self.github.advance_clock()
