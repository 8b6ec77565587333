"""An example of each operation's request: path, query and body, and the curl command that sends it."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from schemas import ids
from schemas.topics import DOCUMENTS_SUBMITTED

EXAMPLE_ADDRESS: Final = "http://127.0.0.1:8787"
"""Address in the examples: where `make run` listens."""
_DOCUMENT: Final = "note-2026-05-04"
_MEMORY: Final = ids.memory_id("alice#0", "User lives in Porto")
_OTHER_MEMORY: Final = ids.memory_id("alice#0", "User lives in Lisbon")
_CHUNK: Final = ids.chunk_id(_DOCUMENT, 0, "I moved to Porto.")
_CONNECTOR: Final = "con_3f9a1c"
_KEY: Final = "key_7d41e2"
_QUESTION: Final = "question_5b1c7e"
_DEAD_LETTERS: Final = f"{DOCUMENTS_SUBMITTED.name}.dlq"
_SHA256: Final = sha256(b"lease.pdf").hexdigest()
_FILTER: Final = {
    "operator": "and",
    "operands": [
        {"field": "topic", "operator": "eq", "value": "home"},
        {"field": "year", "operator": "gte", "value": 2025},
    ],
}
_BUCKETS: Final = {
    "buckets": {"allergies": "What the user can't eat or touch", "music": "Instruments, bands, concerts"}
}


@dataclass(frozen=True, slots=True)
class RequestExample:
    """A realistic request of one operation.

    `path`: values of path parameters other than the namespace. `query`: query parameters. `body`: JSON. `form`:
    fields of a multipart form, `file` the name of a local file. `upload`: local file that is sent as the body.
    """

    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    form: Mapping[str, str] | None = None
    upload: str | None = None


EXAMPLES: Final[Mapping[str, RequestExample]] = {
    "postNsByNamespaceSearch": RequestExample(
        body={"query": "Where does she live?", "limit": 5, "filter": _FILTER, "include": {"documents": True}}
    ),
    "postNsByNamespaceProfile": RequestExample(body={"buckets": ["static", "dynamic"]}),
    "putNsByNamespaceProfileBuckets": RequestExample(body=_BUCKETS),
    "deleteNsByNamespaceProfileBuckets": RequestExample(body={"buckets": ["music"]}),
    "postNsByNamespaceDocument": RequestExample(
        body={
            "content": "My name is Alice. I moved to Porto in May and I play the cello.",
            "id": _DOCUMENT,
            "metadata": {"topic": "home", "year": 2026},
            "date": "2026-05-04",
            "dreaming": "instant",
        }
    ),
    "deleteNsByNamespaceDocument": RequestExample(body={"ids": [_DOCUMENT]}),
    "postNsByNamespaceDocumentBatch": RequestExample(
        body={
            "documents": [
                {"content": "I am allergic to peanuts.", "id": "allergies", "metadata": {"topic": "health"}},
                {"content": "My sister Ines is a doctor in Braga.", "id": "family", "date": "2026-05-04"},
            ]
        }
    ),
    "postNsByNamespaceDocumentFile": RequestExample(
        form={"file": "lease.pdf", "metadata": '{"topic": "home"}', "date": "2026-05-04"}
    ),
    "postNsByNamespaceDocumentFileById": RequestExample({"id": "lease"}, form={"file": "lease.pdf"}),
    "patchNsByNamespaceDocumentFileById": RequestExample(
        {"id": "lease"}, form={"file": "lease-signed.pdf", "metadata": '{"signed": true}'}
    ),
    "getNsByNamespaceDocumentById": RequestExample({"id": _DOCUMENT}, {"include": "chunks"}),
    "patchNsByNamespaceDocumentById": RequestExample(
        {"id": _DOCUMENT},
        body={"content": "I moved to Porto in April and I play the cello.", "metadata": {"year": 2026}},
    ),
    "postNsByNamespaceListDocumentsMemoryCounts": RequestExample(body={"ids": [_DOCUMENT, "family"]}),
    "postNsByNamespaceListByType": RequestExample(
        {"type": "documents"}, {"limit": "20"}, {"filter": _FILTER, "include": {"content": True}}
    ),
    "getNsByNamespaceMemoriesById": RequestExample({"id": _MEMORY}, {"include": "related"}),
    "deleteNsByNamespaceMemories": RequestExample(body={"ids": [_MEMORY]}),
    "deleteNsByNamespaceMemoriesSemantic": RequestExample(body={"query": "where I used to live", "dryRun": True}),
    "patchNsByNamespace": RequestExample(body={"supportingContext": "Notes of Alice, a cellist who lives in Porto."}),
    "deleteNsByNamespace": RequestExample(query={"moveTo": "alice-2026"}),
    "getNs": RequestExample(query={"q": "ali"}),
    "getNamespaces": RequestExample(query={"q": "ali"}),
    "patchOrganization": RequestExample(
        body={"organizationalContext": "A music school in Porto. Terms begin in September."}
    ),
    "postNsByNamespaceConnectors": RequestExample(
        body={"provider": "web-crawler", "config": {"startUrl": "https://example.com/handbook/"}, "documentLimit": 500}
    ),
    "getNsByNamespaceConnectorsById": RequestExample({"id": _CONNECTOR}),
    "postNsByNamespaceConnectorsByIdSync": RequestExample({"id": _CONNECTOR}),
    "patchNsByNamespaceConnectorsById": RequestExample({"id": _CONNECTOR}, body={"documentLimit": 1000}),
    "deleteNsByNamespaceConnectorsById": RequestExample({"id": _CONNECTOR}, {"deleteDocuments": "true"}),
    "postFeedback": RequestExample(
        body={
            "type": "docs",
            "title": "Say how long a search may take",
            "description": "The guide on search names no timeout.",
            "endpoint": "/ns/{namespace}/search",
        }
    ),
    "postNsByNamespaceExplainSearch": RequestExample(
        body={"query": "Where does she live?", "asOf": "2026-03-31T00:00:00Z"}
    ),
    "postNsByNamespaceExplainMissing": RequestExample(body={"query": "Where does she live?", "document": _DOCUMENT}),
    "postNsByNamespaceExplainProfile": RequestExample(body={"asOf": "2026-03-31T00:00:00Z"}),
    "getNsByNamespaceExplainDocumentsById": RequestExample({"id": _DOCUMENT}),
    "getNsByNamespaceExplainOriginalsById": RequestExample({"id": "lease"}),
    "getNsByNamespaceExplainPagesById": RequestExample({"id": "lease"}, query={"span": "120-180"}),
    "getNsByNamespaceExplainPagePicturesById": RequestExample({"id": "lease"}, query={"page": "3", "width": "1000"}),
    "getNsByNamespaceExplainPageTextsById": RequestExample({"id": "lease"}, query={"page": "3"}),
    "getNsByNamespaceExplainChunksById": RequestExample({"id": _CHUNK}),
    "getNsByNamespaceExplainMemories": RequestExample(query={"document": _DOCUMENT}),
    "getNsByNamespaceExplainMemoriesById": RequestExample({"id": _MEMORY}),
    "postNsByNamespaceExplainRedactions": RequestExample(body={"ids": [_MEMORY], "dryRun": True}),
    "postNsByNamespaceExplainCorrections": RequestExample(
        body={"action": "accept", "id": _MEMORY, "replaced": _OTHER_MEMORY}
    ),
    "postNsByNamespaceExplainQuestions": RequestExample(
        body={"query": "Where does she live?", "url": "https://example.com/recollect"}
    ),
    "patchNsByNamespaceExplainQuestionsById": RequestExample({"id": _QUESTION}, body={"paused": True}),
    "deleteNsByNamespaceExplainQuestionsById": RequestExample({"id": _QUESTION}),
    "postNsByNamespaceExplainQuestionsByIdRotate": RequestExample({"id": _QUESTION}),
    "postNsByNamespaceExplainQuestionsByIdTest": RequestExample({"id": _QUESTION}),
    "postNsByNamespaceExplainQuestionsByIdDeadLetters": RequestExample({"id": _QUESTION}, body={"action": "redeliver"}),
    "putNsByNamespaceExplainRecallLog": RequestExample(body={"recallLog": True}),
    "postAdminKeys": RequestExample(
        body={"name": "chat app", "role": "write", "namespaces": ["alice"], "expiresInDays": 90, "rateLimit": 600}
    ),
    "patchAdminKeysById": RequestExample({"id": _KEY}, body={"name": "chat app", "monthlySearches": 100000}),
    "deleteAdminKeysById": RequestExample({"id": _KEY}),
    "postAdminKeysByIdRotate": RequestExample({"id": _KEY}, body={"overlapHours": 24}),
    "getAdminDlqRecord": RequestExample(query={"id": f"{_DEAD_LETTERS}/0/17"}),
    "deleteAdminDlq": RequestExample(query={"topic": _DEAD_LETTERS}),
    "putAdminBuckets": RequestExample(body=_BUCKETS),
    "deleteAdminBuckets": RequestExample(body={"buckets": ["music"]}),
    "postAdminConnectorsByIdSync": RequestExample({"id": _CONNECTOR}, body={"full": True}),
    "postAdminConnectorsByIdCheck": RequestExample({"id": _CONNECTOR}),
    "postAdminConnectorsByIdReconnect": RequestExample({"id": _CONNECTOR}, body={"apiKey": "the new key"}),
    "putAdminConnectorsByIdSchedule": RequestExample({"id": _CONNECTOR}, body={"syncIntervalHours": 6}),
    "putAdminConnectorsByIdOptions": RequestExample({"id": _CONNECTOR}, body={"paths": ["src/**/*.py"]}),
    "postAdminReplay": RequestExample(body={"from": "documents", "embedder": "e5-encoder"}),
    "postAdminReplayPlan": RequestExample(body={"from": "documents", "embedder": "e5-encoder"}),
    "getAdminExport": RequestExample(query={"namespace": "alice"}),
    "getAdminBlob": RequestExample({"sha256": _SHA256}),
    "postAdminBlob": RequestExample(upload="lease.pdf"),
    "postAdminImport": RequestExample(upload="alice.ndjson"),
    "getAdminGrowth": RequestExample(query={"namespace": "alice"}),
    "postAdminErasures": RequestExample(body={"namespace": "alice", "documents": [_DOCUMENT], "dryRun": True}),
}
"""Examples by operation id. An operation that is absent takes no more than the namespace."""


def add_example(path: str, method: str, operation: dict[str, Any], address: str) -> None:
    """Add an operation's example to its parameters and body, and its curl command to the description."""
    example = EXAMPLES.get(operation["operationId"], RequestExample())
    values = {"namespace": "alice", **example.path}
    for parameter in operation.get("parameters", ()):
        given = values if parameter["in"] == "path" else example.query
        if parameter["name"] in given:
            parameter["example"] = given[parameter["name"]]
    content = operation.get("requestBody", {}).get("content", {})
    if example.body is not None:
        content["application/json"]["example"] = example.body
    if example.form is not None:
        content["multipart/form-data"]["example"] = {name: v for name, v in example.form.items() if name != "file"}
    command = curl_command(method, address + path.format_map(values), operation, example)
    operation["description"] = f"{operation.get('description', '')}\n\n```sh\n{command}\n```".lstrip()


def curl_command(method: str, url: str, operation: Mapping[str, Any], example: RequestExample) -> str:
    """Return the curl command that sends an example, with the key in $RECOLLECT_API_KEY."""
    if example.query:
        url += "?" + "&".join(f"{name}={value}" for name, value in example.query.items())
    lines = [f"curl {shlex.quote(url)}"]
    if method != _usual_method(example):
        lines[0] = f"curl -X {method.upper()} {shlex.quote(url)}"
    lines.append('-H "Authorization: Bearer $RECOLLECT_API_KEY"')
    if example.body is not None:
        lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(json.dumps(example.body))}"]
    if example.upload is not None:
        (media,) = operation["requestBody"]["content"]
        lines += [f"-H 'Content-Type: {media}'", f"--data-binary @{example.upload}"]
    for name, value in (example.form or {}).items():
        lines.append(f"-F {shlex.quote(f'{name}=@{value}' if name == 'file' else f'{name}={value}')}")
    return " \\\n  ".join(lines)


def _usual_method(example: RequestExample) -> str:
    return "get" if (example.body, example.form, example.upload) == (None, None, None) else "post"
