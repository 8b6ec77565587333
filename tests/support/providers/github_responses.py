"""Builders of GitHub's responses, complete according to their description."""

from datetime import datetime
from hashlib import sha256
from typing import Any

from tests.support.providers.api_description import ApiDescription
from tests.support.providers.github_repository import Comment, Commit, Issue, LineComment, RepositoryDouble, Review


def format_time(at: datetime) -> str:
    """A second's grain."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


class ResponseBuilder:
    """Bodies of answers; `address` is the API's, `site` that of the pages for people."""

    description: ApiDescription
    address: str
    site: str

    def user_body(self, login: str, component: str = "simple-user") -> dict[str, Any]:
        url = f"{self.site}/{login}"
        return self.description.filled_example(component, html_url=url, type="User", **self.person_body(login))

    def person_body(self, login: str) -> dict[str, Any]:
        return {"login": login, "id": int(sha256(login.encode()).hexdigest()[:6], 16)}

    def repository_body(self, repo: RepositoryDouble, component: str) -> dict[str, Any]:
        return self.description.filled_example(component, private=True, size=1, **self.webhook_repository_body(repo))

    def webhook_repository_body(self, repo: RepositoryDouble) -> dict[str, Any]:
        return {
            "id": repo.id,
            "node_id": repo.node,
            "name": repo.name,
            "full_name": repo.full_name,
            "default_branch": repo.branch,
            "owner": self.person_body(repo.owner),
            "html_url": f"{self.site}/{repo.full_name}",
        }

    def commit_body(self, repo: RepositoryDouble, commit: Commit) -> dict[str, Any]:
        person = {
            "name": commit.author,
            "email": f"{commit.author}@example.test",
            "date": format_time(commit.committed_at),
        }
        inner = {
            "author": person,
            "committer": person,
            "message": commit.message,
            "tree": {"sha": commit.tree, "url": self.address},
        }
        parents = [{"sha": sha, "url": self.address, "html_url": self.site} for sha in commit.parents]
        user = self.user_body(commit.author)
        url = f"{self.address}/repos/{repo.full_name}/commits/{commit.sha}"
        response = self.description.filled_example(
            "commit", sha=commit.sha, parents=parents, url=url, author=user, committer=user
        )
        response["commit"] = {**response["commit"], **inner, "comment_count": 0, "url": url}
        return response

    def issue_body(self, repo: RepositoryDouble, issue: Issue) -> dict[str, Any]:
        place = f"{self.site}/{repo.full_name}/{'pull' if issue.pull else 'issues'}/{issue.number}"
        pull = (
            {"pull_request": {"url": self.address, "html_url": place, "diff_url": place, "patch_url": place}}
            if issue.pull
            else {}
        )
        labels = [{"name": name} for name in issue.labels]
        return self.description.filled_example(
            "issue", id=issue.number + 10_000, number=issue.number, title=issue.title, body=issue.body,
            state=issue.state,
            user=self.user_body(issue.author), labels=labels, comments=len(issue.comments), html_url=place,
            created_at=format_time(issue.created_at), updated_at=format_time(issue.updated_at), **pull,
        )  # fmt: skip

    def comment_body(self, repo: RepositoryDouble, issue: Issue, comment: Comment) -> dict[str, Any]:
        url = f"{self.address}/repos/{repo.full_name}/issues/{issue.number}"
        return self.description.filled_example(
            "issue-comment", id=comment.id, body=comment.body, issue_url=url,
            user=self.user_body(comment.author),
            created_at=format_time(comment.created_at), updated_at=format_time(comment.updated_at),
        )  # fmt: skip

    def review_body(self, repo: RepositoryDouble, issue: Issue, review: Review) -> dict[str, Any]:
        """A review; the REST API tells no time of an edit."""
        return self.description.filled_example(
            "pull-request-review", id=review.id, body=review.body, state=review.state,
            user=self.user_body(review.author), submitted_at=format_time(review.submitted_at),
            pull_request_url=f"{self.address}/repos/{repo.full_name}/pulls/{issue.number}",
        )  # fmt: skip

    def line_comment_body(self, repo: RepositoryDouble, issue: Issue, comment: LineComment) -> dict[str, Any]:
        told = {
            "line": comment.line, "start_line": comment.start_line, "original_line": comment.original_line,
            "original_start_line": comment.start_line, "in_reply_to_id": comment.reply_to,
        }  # fmt: skip
        body = self.description.filled_example(
            "pull-request-review-comment", id=comment.id, body=comment.body, path=comment.path,
            pull_request_review_id=comment.review, diff_hunk=comment.code, user=self.user_body(comment.author),
            pull_request_url=f"{self.address}/repos/{repo.full_name}/pulls/{issue.number}",
            created_at=format_time(comment.created_at), updated_at=format_time(comment.updated_at),
        )  # fmt: skip
        return body | {name: value for name, value in told.items() if value is not None}
