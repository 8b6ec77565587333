"""What GitHub's answers are made of, filled up to what their description wants."""

from datetime import datetime
from hashlib import sha256
from typing import Any

from tests.connectors.doubles.github_world import Comment, Commit, Issue, Repo
from tests.connectors.doubles.judge import Judge


def time(at: datetime) -> str:
    """A second's grain."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


class Bodies:
    """Bodies of answers; `address` is the API's, `site` that of the pages for people."""

    judge: Judge
    address: str
    site: str

    def user_of(self, login: str, component: str = "simple-user") -> dict[str, Any]:
        url = f"{self.site}/{login}"
        return self.judge.whole(component, html_url=url, type="User", **self.person(login))

    def person(self, login: str) -> dict[str, Any]:
        return {"login": login, "id": int(sha256(login.encode()).hexdigest()[:6], 16)}

    def described(self, repo: Repo, component: str) -> dict[str, Any]:
        return self.judge.whole(component, private=True, size=1, **self.names(repo))

    def names(self, repo: Repo) -> dict[str, Any]:
        return {
            "id": repo.id,
            "node_id": repo.node,
            "name": repo.name,
            "full_name": repo.full_name,
            "default_branch": repo.branch,
            "owner": self.person(repo.owner),
            "html_url": f"{self.site}/{repo.full_name}",
        }

    def described_commit(self, repo: Repo, commit: Commit) -> dict[str, Any]:
        person = {"name": commit.author, "email": f"{commit.author}@example.test", "date": time(commit.at)}
        inner = {
            "author": person,
            "committer": person,
            "message": commit.message,
            "tree": {"sha": commit.tree, "url": self.address},
        }
        parents = [{"sha": sha, "url": self.address, "html_url": self.site} for sha in commit.parents]
        user = self.user_of(commit.author)
        url = f"{self.address}/repos/{repo.full_name}/commits/{commit.sha}"
        whole = self.judge.whole(
            "commit", sha=commit.sha, parents=parents, url=url, author=user, committer=user
        )
        whole["commit"] = {**whole["commit"], **inner, "comment_count": 0, "url": url}
        return whole

    def described_issue(self, repo: Repo, issue: Issue) -> dict[str, Any]:
        place = f"{self.site}/{repo.full_name}/{'pull' if issue.pull else 'issues'}/{issue.number}"
        pull = (
            {"pull_request": {"url": self.address, "html_url": place, "diff_url": place, "patch_url": place}}
            if issue.pull
            else {}
        )
        labels = [{"name": name} for name in issue.labels]
        return self.judge.whole(
            "issue", id=issue.number + 10_000, number=issue.number, title=issue.title, body=issue.body,
            state=issue.state,
            user=self.user_of(issue.author), labels=labels, comments=len(issue.comments), html_url=place,
            created_at=time(issue.at), updated_at=time(issue.changed), **pull,
        )  # fmt: skip

    def described_comment(self, repo: Repo, issue: Issue, comment: Comment) -> dict[str, Any]:
        url = f"{self.address}/repos/{repo.full_name}/issues/{issue.number}"
        return self.judge.whole(
            "issue-comment", id=comment.id, body=comment.body, issue_url=url,
            user=self.user_of(comment.author),
            created_at=time(comment.at), updated_at=time(comment.changed),
        )  # fmt: skip
