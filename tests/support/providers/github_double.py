"""GitHub as far as recollect asks it, judged by its OpenAPI description (REST API 2026-03-10)."""

import gzip
import io
import json
import sys
import tarfile
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from hmac import new as hmac
from itertools import count
from typing import Any, TypeVar
from urllib.parse import parse_qs, parse_qsl, urlencode
from uuid import UUID

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey
from starlette.requests import Request

from tests.support.providers.api_description import ApiDescription, DescriptionViolationError, Operation
from tests.support.providers.github_graphql import answer_query
from tests.support.providers.github_repository import Comment, Issue, RepositoryDouble
from tests.support.providers.github_responses import ResponseBuilder, format_time
from tests.support.providers.provider_double import (
    DoubleResponse,
    ProviderDouble,
    ReceivedRequest,
    serve_double,
)

API = "https://api.github.com"
SITE = "https://github.com"
VERSION = "2026-03-10"


T = TypeVar("T")


class GitHubDouble(ResponseBuilder, ProviderDouble):
    """`api.github.com`, `github.com`'s OAuth and `codeload.github.com`, for one account."""

    def __init__(self, address: str = API, site: str = SITE) -> None:
        super().__init__(ApiDescription("github", headers=frozenset({"x-github-api-version"}), errors="basic-error"))
        self.address = address
        self.site = site
        self.numbers = count(1000)
        self.repos: dict[int, RepositoryDouble] = {}
        self.renamed_repositories: dict[str, int] = {}
        self.tokens = {"gho_good"}
        self.refresh_tokens: set[str] = set()
        self.codes: set[str] = set()
        self.login = "ada"
        self.app_key: RSAKey | None = None
        self.installations: dict[int, str] = {}
        """Logins of the accounts that installed the app, by the installation's number."""
        self.tree_limit = 100_000
        self.downloads = 0

    def repo(self, full_name: str, files: Mapping[str, str | bytes] | None = None) -> RepositoryDouble:
        """A new repository, with a first commit where there are files."""
        owner, _, name = full_name.partition("/")
        repository = RepositoryDouble(self, next(self.numbers), owner, name)
        self.repos[repository.id] = repository
        self.renamed_repositories.pop(full_name, None)
        if files:
            repository.commit(files)
        return repository

    def rename(self, repo: RepositoryDouble, full_name: str) -> None:
        """The old name leads to the new one until somebody takes it."""
        self.renamed_repositories[repo.full_name] = repo.id
        repo.owner, _, repo.name = full_name.partition("/")

    def remove(self, repo: RepositoryDouble) -> None:
        """Deleted, or not to be seen any more."""
        del self.repos[repo.id]

    # -- requests

    def described_operation(self, method: str, path: str) -> Operation | None:
        """`/repositories/<id>`, where GitHub's own redirects and links lead, is `/repos/<owner>/<name>`."""
        if path.startswith(("/login/", "/codeload/")):
            return None
        if path == "/graphql":
            return None if method == "POST" else self.description.operation(method, path)
        if path.startswith("/repositories/"):
            number, slash, rest = path.removeprefix("/repositories/").partition("/")
            found = self.repos.get(int(number))
            name = found.full_name if found else "nobody/nothing"
            path = f"/repos/{name}{slash}{rest}"
        return self.description.operation(method, path)

    def handle(self, call: ReceivedRequest) -> DoubleResponse:
        if call.headers.get("x-github-api-version") != VERSION:
            raise DescriptionViolationError("the version of the API is not asked for")
        token = call.headers.get("authorization", "").removeprefix("Bearer ")
        name = call.operation.template
        if name.startswith("/app/"):
            return self._app(call, token)
        if token not in self.tokens:
            return self._answer_error(401, "Bad credentials")
        if name == "/installation/repositories" and token.startswith("ghs_"):
            listed = self._page_of(call, [*self.repos.values()], lambda r: self.repository_body(r, "repository"))
            return replace(listed, body={"total_count": len(self.repos), "repositories": listed.body})
        if name.startswith(("/user", "/installation")) and token.startswith("ghs_") != name.startswith("/inst"):
            return self._answer_error(403, "Resource not accessible by integration")
        if name == "/user":
            return self._json(self.user_body(self.login, "private-user"))
        if name == "/user/repos":
            return self._page_of(call, [*self.repos.values()], lambda r: self.repository_body(r, "repository"))
        owner, short = call.path_parameters["owner"], call.path_parameters["repo"]
        repo = next((r for r in self.repos.values() if r.full_name.lower() == f"{owner}/{short}".lower()), None)
        if repo is None:
            return self._missing_repository(call, f"{owner}/{short}")
        return self._answer_for_repository(repo, call)

    def _app(self, call: ReceivedRequest, token: str) -> DoubleResponse:
        """What an app may do as itself, with a JWT of ten minutes at most."""
        try:
            claims = jwt.decode(token, self.app_key, algorithms=["RS256"]).claims if self.app_key else {}
        except (JoseError, ValueError):
            return self._answer_error(401, "A JSON web token could not be decoded")
        now = self.now.timestamp()
        if claims.get("iss") != "12" or not now < claims["exp"] <= now + 600 or claims["iat"] > now:
            return self._answer_error(401, "'Expiration time' claim ('exp') is too far in the future")
        if call.operation.template == "/app/installations":
            return self._page_of(
                call, [*self.installations.items()], lambda installation: self._installation_body(*installation)
            )
        if int(call.path_parameters["installation_id"]) not in self.installations:
            return self._answer_error(404, "Not Found")
        token = f"ghs_{next(self.numbers)}"
        self.tokens.add(token)
        expires_at = format_time(self.now + timedelta(hours=1))
        return DoubleResponse(
            201, self.description.filled_example("installation-token", token=token, expires_at=expires_at)
        )

    def _installation_body(self, number: int, login: str) -> dict[str, Any]:
        # The description of the list wants the members of a user and those of an enterprise.
        enterprise = self.description.filled_example("enterprise", name=login, slug=login)
        enterprise |= dict.fromkeys(("created_at", "updated_at"), format_time(self.now))
        account = enterprise | self.user_body(login) | {"name": login}
        return {**self.description.filled_example("installation", id=number), "account": account}

    def _missing_repository(self, call: ReceivedRequest, full_name: str) -> DoubleResponse:
        moved = self.renamed_repositories.get(full_name)
        if moved not in self.repos:
            return self._answer_error(404, "Not Found")
        rest = call.path.split("/", 4)[4:]
        url = "/".join([f"{self.address}/repositories/{moved}", *rest])
        query = f"?{urlencode(call.query)}" if call.query else ""
        body = {"message": "Moved Permanently", "url": url, "documentation_url": "https://docs.github.com/"}
        return DoubleResponse(301, body, {"location": url + query})

    def _answer_for_repository(self, repo: RepositoryDouble, call: ReceivedRequest) -> DoubleResponse:
        kind = call.operation.template.removeprefix("/repos/{owner}/{repo}")
        match kind.split("/")[1:]:
            case []:
                return self._json(self.repository_body(repo, "full-repository"))
            case ["commits", _]:
                return self._commit(repo, call.path_parameters["ref"])
            case ["git", "trees", _]:
                return self._tree(repo, call)
            case ["git", "blobs", _]:
                return self._blob(repo, call.path_parameters["file_sha"])
            case ["tarball", _]:
                where = f"{self.site}/codeload/{repo.id}/{call.path_parameters['ref']}?token=short-lived"
                return DoubleResponse(302, None, {"location": where})
            case ["hooks", *_]:
                return self._hook(repo, call)
            case ["pulls", *_]:
                return self._pull(repo, call)
            case _:
                return self._issue(repo, call)

    def answer_undescribed(self, request: Request, body: bytes) -> DoubleResponse:
        """The OAuth endpoints of github.com, and the archives that a tarball's redirect leads to."""
        path = request.url.path
        if path == "/graphql":
            return self._answer_graphql(request, json.loads(body))
        if path.startswith("/codeload/"):
            if "authorization" in request.headers and f"//{request.url.netloc}" not in self.address:
                raise DescriptionViolationError("the token was sent to another host")
            _, _, number, ref = path.split("/", 3)
            self.downloads += 1
            return DoubleResponse(200, self._archive(self.repos[int(number)], ref), media_type="application/x-gzip")
        if path == "/login/oauth/authorize":
            asked = dict(parse_qsl(request.url.query))
            code = f"code-{next(self.numbers)}"
            self.codes.add(code)
            back = urlencode({"code": code, "state": asked["state"]})
            return DoubleResponse(302, None, {"location": f"{asked['redirect_uri']}?{back}"})
        form = {key: values[0] for key, values in parse_qs(body.decode()).items()}
        return DoubleResponse(200, self._token(form))

    def _answer_graphql(self, request: Request, body: dict[str, Any]) -> DoubleResponse:
        """GraphQL, which has a description of its own."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.calls.append(ReceivedRequest("POST", "/graphql", {}, headers, body, Operation("graphql", "", {}, {})))
        if headers.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            return self._answer_error(401, "Bad credentials")
        return self._next_fault("graphql") or DoubleResponse(200, answer_query(body, self.repos.values()))

    def _token(self, form: Mapping[str, str]) -> dict[str, Any]:
        """Issue or refresh a token. GitHub answers errors with 200 too."""
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refresh_tokens:
                return {
                    "error": "bad_refresh_token",
                    "error_description": "The refresh token is incorrect or expired.",
                }
            self.refresh_tokens.remove(form["refresh_token"])
        elif form["code"] not in self.codes:
            return {
                "error": "bad_verification_code",
                "error_description": "The code passed is incorrect or expired.",
            }
        token, refresh = f"ghu_{next(self.numbers)}", f"ghr_{next(self.numbers)}"
        self.tokens.add(token)
        self.refresh_tokens.add(refresh)
        return {
            "access_token": token,
            "expires_in": 28800,
            "refresh_token": refresh,
            "refresh_token_expires_in": 15811200,
            "token_type": "bearer",
            "scope": "",
        }

    # -- files

    def _commit(self, repo: RepositoryDouble, ref: str) -> DoubleResponse:
        if not repo.commits:
            return self._answer_error(409, "Git Repository is empty.")
        found = repo.commits.get(repo.branches.get(ref, ref))
        if found is None:
            return self._answer_error(404, "Not Found")
        return self._json(self.commit_body(repo, found))

    def _tree(self, repo: RepositoryDouble, call: ReceivedRequest) -> DoubleResponse:
        sha = call.path_parameters["tree_sha"]
        if sha not in repo.trees:
            return self._answer_error(404, "Not Found")
        deep = "recursive" in call.query
        entries = list(repo.tree_entries(sha, deep=deep))
        kept = entries[: self.tree_limit]
        return self._json(
            {
                "sha": sha,
                "url": call.path and self.address,
                "tree": kept,
                "truncated": len(kept) < len(entries),
            }
        )

    def _blob(self, repo: RepositoryDouble, sha: str) -> DoubleResponse:
        if sha not in repo.blobs:
            return self._answer_error(404, "Not Found")
        data = repo.blobs[sha]
        return self._json(
            self.description.filled_example(
                "blob",
                sha=sha,
                size=len(data),
                encoding="base64",
                content=b64encode(data).decode(),
                url=self.address,
            )
        )

    def _archive(self, repo: RepositoryDouble, ref: str) -> bytes:
        commit = repo.commits[ref]
        out = io.BytesIO()
        with (
            gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as packed,
            tarfile.open(fileobj=packed, mode="w") as tar,
        ):
            for path, (mode, sha) in commit.files.items():
                member = tarfile.TarInfo(f"{repo.owner}-{repo.name}-{ref[:7]}/{path}")
                if mode == "120000":
                    member.type, member.linkname = tarfile.SYMTYPE, repo.blobs[sha].decode()
                    tar.addfile(member)
                elif mode != "160000" and path not in repo.archive_excluded:
                    member.size = len(repo.blobs[sha])
                    tar.addfile(member, io.BytesIO(repo.blobs[sha]))
        return out.getvalue()

    # -- issues

    def _issue(self, repo: RepositoryDouble, call: ReceivedRequest) -> DoubleResponse:
        kind = call.operation.template.removeprefix("/repos/{owner}/{repo}/issues")
        since = call.query.get("since", "")
        if kind == "":
            chosen = [issue for issue in repo.issues.values() if not since or format_time(issue.updated_at) >= since]
            late = call.query.get("direction", "desc") == "desc"
            chosen.sort(
                key=lambda issue: issue.updated_at if call.query.get("sort") == "updated" else issue.created_at,
                reverse=late,
            )
            return self._page_of(call, chosen, lambda issue: self.issue_body(repo, issue))
        if kind == "/comments":
            pairs = _since(call, [(i, c) for i in repo.issues.values() for c in i.comments])
            return self._page_of(call, pairs, lambda pair: self.comment_body(repo, *pair))
        issue = repo.issues.get(int(call.path_parameters["issue_number"]))
        if issue is None:
            return self._answer_error(410, "This issue was deleted")
        if kind.endswith("/comments"):
            return self._page_of(call, issue.comments, lambda c: self.comment_body(repo, issue, c))
        return self._json(self.issue_body(repo, issue))

    def _pull(self, repo: RepositoryDouble, call: ReceivedRequest) -> DoubleResponse:
        kind = call.operation.template.removeprefix("/repos/{owner}/{repo}/pulls")
        if kind == "/comments":
            pairs = _since(call, [(i, c) for i in repo.issues.values() for c in i.line_comments])
            return self._page_of(call, pairs, lambda pair: self.line_comment_body(repo, *pair))
        pull = repo.issues.get(int(call.path_parameters["pull_number"]))
        if pull is None or not pull.pull:
            return self._answer_error(404, "Not Found")
        if kind.endswith("/reviews"):
            return self._page_of(call, pull.reviews, lambda review: self.review_body(repo, pull, review))
        return self._page_of(call, pull.line_comments, lambda c: self.line_comment_body(repo, pull, c))

    # -- webhooks

    def _hook(self, repo: RepositoryDouble, call: ReceivedRequest) -> DoubleResponse:
        if not repo.admin:
            return self._answer_error(404, "Not Found")
        if call.method == "GET":
            return self._page_of(call, list(repo.hooks.values()), dict)
        if call.method == "DELETE":
            removed = repo.hooks.pop(int(call.path_parameters["hook_id"]), None)
            return DoubleResponse(204) if removed else self._answer_error(404, "Not Found")
        if any(hook["config"]["url"] == call.body["config"]["url"] for hook in repo.hooks.values()):
            return self._answer_error(422, "Validation Failed")
        number = next(self.numbers)
        shown = {**call.body["config"], "secret": "********"}
        response = self.description.filled_example(
            "hook", id=number, name="web", active=True, events=call.body["events"], config=shown
        )
        repo.hooks[number] = response
        repo.webhook_secrets[number] = call.body["config"]["secret"]
        return DoubleResponse(201, response)

    def delivery(self, repo: RepositoryDouble, event: str, secret: str, **fields: Any) -> tuple[dict[str, str], bytes]:
        """Headers and body of a webhook as GitHub sends and signs it; `event` as the description calls it."""
        component = self.description.document["webhooks"][event]["post"]["requestBody"]["content"]["application/json"]
        name = component["schema"]["$ref"].rsplit("/", 1)[1]
        body = self.description.filled_example(
            name, repository=self.webhook_repository_body(repo), sender=self.user_body("ada"), **fields
        )  # fmt: skip
        self.description.webhook(event, body)
        raw = json.dumps(body).encode()
        kind = "push" if event == "push" else event.rpartition("-")[0].replace("-", "_")
        headers = {
            "content-type": "application/json",
            "x-github-event": kind,
            "x-github-delivery": str(UUID(int=next(self.numbers))),
            "x-github-hook-id": "1",
            "x-hub-signature-256": "sha256=" + hmac(secret.encode(), raw, sha256).hexdigest(),
        }
        return headers, raw

    def push(self, repo: RepositoryDouble, secret: str, *, ref: str | None = None) -> tuple[dict[str, str], bytes]:
        """A push to the default branch, or to another ref."""
        return self.delivery(
            repo, "push", secret, ref=ref or f"refs/heads/{repo.branch}", before="0" * 40, after=repo.head.sha
        )

    # -- what answers are made of

    def rate_limited_response(
        self, *, retry_after: int | None = None, reset: int | None = None, status: int = 403
    ) -> DoubleResponse:
        """Too many requests: by the secondary limit (retry-after) or the primary one (reset, seconds)."""
        headers = {"date": self.now.strftime("%a, %d %b %Y %H:%M:%S GMT")}
        if retry_after is not None:
            headers["retry-after"] = str(retry_after)
        if reset is not None:
            headers |= {
                "x-ratelimit-remaining": "0",
                "x-ratelimit-reset": str(int(self.now.timestamp()) + reset),
            }
        return DoubleResponse(
            status,
            {"message": "You have exceeded a secondary rate limit." if reset is None else "API rate limit exceeded"},
            headers,
        )

    def _json(self, body: Any) -> DoubleResponse:
        return DoubleResponse(200, body)

    def _answer_error(self, status: int, message: str) -> DoubleResponse:
        return DoubleResponse(
            status,
            {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)},
        )

    def _page_of(
        self, call: ReceivedRequest, everything: list[T], describe: Callable[[T], dict[str, Any]]
    ) -> DoubleResponse:
        """A page, and links to the next one as GitHub writes them."""
        size, page = int(call.query.get("per_page", 30)), int(call.query.get("page", 1))
        part = [describe(item) for item in everything[(page - 1) * size : page * size]]
        more = urlencode({**call.query, "page": page + 1})
        link = {"link": f'<{self.address}{call.path}?{more}>; rel="next"'} if page * size < len(everything) else {}
        return DoubleResponse(200, part, link)


C = TypeVar("C", bound=Comment)


def _since(call: ReceivedRequest, pairs: list[tuple[Issue, C]]) -> list[tuple[Issue, C]]:
    """The comments changed since the asked time, in the asked order."""
    since, by_change = call.query.get("since", ""), call.query.get("sort") == "updated"
    chosen = [pair for pair in pairs if not since or format_time(pair[1].updated_at) >= since]
    return sorted(chosen, key=lambda pair: pair[1].updated_at if by_change else pair[1].created_at)


def demo(github: GitHubDouble) -> GitHubDouble:
    """A small world for the demonstration."""
    handbook = github.repo(
        "octo/handbook",
        {
            "README.md": "# Handbook\n\nHow we work at Octo.\n",
            "docs/leave.md": "# Leave\n\nEverybody has 30 days of leave.\n",
        },
    )
    issue = handbook.open("Where is the coffee machine?", "I looked on the second floor.", labels=("question",))
    handbook.comment(issue, "It moved to the third floor.")
    return github


if __name__ == "__main__":
    double = GitHubDouble()

    def ready(address: str) -> None:
        double.address = double.site = address
        print(address)  # noqa: T201 - whoever starts it reads its address

    serve_double(demo(double), sys.argv[1:], ready)
