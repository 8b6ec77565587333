"""An export into an empty service is the same service: whatever happened before, with nothing made again."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.policies.api_keys import create_key, revoke_key
from pipeline.memory.formation.memory_extractor import MemoryExtractor
from pipeline.parsing.document_parser import FileParser
from tests.support.contract_client import ContractClient
from tests.support.service_world import RunningService, running_service
from tools.kafka_broker import DockerBroker, LocalBroker

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SPACES = ("home", "work")
DOCUMENTS = ("ada", "bob")
SAID = st.builds(
    "{} lives in {}.".format, st.sampled_from(["Ada", "Bob"]), st.sampled_from(["Berlin", "Lisbon", "Oslo"])
)
WHERE = st.tuples(st.sampled_from(SPACES), st.sampled_from(DOCUMENTS))
STEP = st.one_of(
    st.tuples(st.just("add"), WHERE, SAID),
    st.tuples(st.just("patch"), WHERE, SAID),
    st.tuples(st.just("upload"), WHERE, SAID),
    st.tuples(st.just("spoil"), WHERE, SAID),
    st.tuples(st.just("label"), WHERE, SAID),
    st.tuples(st.just("delete"), WHERE, SAID),
    st.tuples(st.just("forget"), WHERE, SAID),
    st.tuples(st.just("describe"), WHERE, SAID),
    st.tuples(st.just("move"), WHERE, SAID),
)
Step = tuple[str, tuple[str, str], str]


async def _apply_step(client: ContractClient, step: Step) -> None:
    """Do a step; what is not there may be refused."""
    kind, (incarnation, document), said = step
    path = f"/ns/{incarnation}/document"
    zipped = {"file": ("a.zip", b"PK\x03\x04", "application/zip")}
    text = {"file": ("note.txt", said.encode(), "text/plain")}
    does: dict[str, Callable[[], Awaitable[Any]]] = {
        "add": lambda: client("POST", path, {"content": said, "id": document, "dreaming": "instant"}),
        "patch": lambda: client("PATCH", f"{path}/{document}", {"content": said}),
        "upload": lambda: client("POST", f"{path}/file", files=text, data={"dreaming": "instant"}),
        "spoil": lambda: client("PATCH", f"{path}/file/{document}", files=zipped),
        "label": lambda: client("PATCH", f"{path}/{document}", {"metadata": {"said": said}}),
        "delete": lambda: client("DELETE", path, {"ids": [document]}),
        "forget": lambda: client("DELETE", f"/ns/{incarnation}/memories", {"query": said}),
        "describe": lambda: client("PATCH", f"/ns/{incarnation}", {"supportingContext": said}),
        "move": lambda: client("DELETE", f"/ns/{incarnation}?moveTo={SPACES[incarnation == 'home']}"),
    }
    await does[kind]()


async def _export_lines(service: RunningService) -> dict[str, list[dict[str, Any]]]:
    """Every file of an export, as its lines."""
    text = (await service.client("GET", "/admin/export")).text
    files = {"settings": [json.loads(line) for line in text.splitlines()]}
    for line in files["settings"]:
        if line["kind"] == "namespace":
            text = (await service.client("GET", f"/admin/export?namespace={line['name']}")).text
            files[line["name"]] = [json.loads(row) for row in text.splitlines()]
    assert all(lines[-1]["kind"] == "end" for lines in files.values())
    return files


async def _import(
    service: RunningService, source: RunningService, files: dict[str, list[dict[str, Any]]]
) -> dict[str, int]:
    for line in (line for lines in files.values() for line in lines):
        for part in (line.get("source") or {}, line.get("upload") or {}):
            if blob := part.get("blob"):
                data = (await source.client("GET", f"/admin/blobs/{blob['sha256']}")).content
                stored = await service.client.ok("POST", "/admin/blobs", content=data)
                assert stored["sha256"] == blob["sha256"]
    counts = dict.fromkeys(("documents", "memories", "settings", "unchanged"), 0)
    for lines in files.values():
        content = "\n".join(json.dumps(line) for line in lines)
        answer = await service.client.ok("POST", "/admin/import", content=content)
        counts = {name: counts[name] + answer[name] for name in counts}
    return counts


async def _fail_if_called(_: Any, *given: Any) -> list[Any]:
    assert given == ([],), "nothing may be parsed, fetched or formed again"
    return []


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(STEP, min_size=4, max_size=16))
async def test_what_was_exported_and_imported_is_exported_the_same(
    monkeypatch: pytest.MonkeyPatch, steps: list[Step]
) -> None:
    with TemporaryDirectory() as folder:
        async with (
            running_service(Path(folder, "a")) as source,
            running_service(Path(folder, "b"), log_partitions=3) as target,
        ):
            await source.client.ok("PUT", "/admin/buckets", {"buckets": {"tastes": "What someone likes"}})
            await source.client.ok("POST", "/admin/keys", {"name": "app", "role": "read"})
            for step in steps:
                await _apply_step(source.client, step)
                await source.wait_idle()
            files = await _export_lines(source)
            with monkeypatch.context() as patched:
                patched.setattr(FileParser, "parse_file", _fail_if_called)
                patched.setattr(FileParser, "parse_text", _fail_if_called)
                patched.setattr(MemoryExtractor, "extract", _fail_if_called)
                first = await _import(target, source, files)
                await target.wait_idle()
                assert _describe_difference(await _export_lines(target), files) == []
                again = await _import(target, source, files)
                await target.wait_idle()
            assert _describe_difference(await _export_lines(target), files) == [], "a second import changes nothing"
            assert (again["documents"], again["memories"], again["settings"]) == (0, 0, 0)
            assert again["unchanged"] == first["documents"]
            for name in files.keys() - {"settings"}:
                await _assert_same_answers(source, target, name)


@pytest.mark.kafka
async def test_what_was_exported_moves_to_kafka_and_back(tmp_path: Path, own_kafka: LocalBroker | DockerBroker) -> None:
    on_kafka: dict[str, Any] = {"kafka_bootstrap": own_kafka.bootstrap, "log_partitions": 2}
    async with (
        running_service(tmp_path / "a") as source,
        running_service(tmp_path / "b", **on_kafka) as shared,
        running_service(tmp_path / "c") as back,
    ):
        for kind in ("add", "patch", "label", "upload", "forget", "describe"):
            await _apply_step(source.client, (kind, ("home", "ada"), "Ada lives in Berlin."))
            await source.wait_idle()
        files = await _export_lines(source)
        for target, origin in ((shared, source), (back, shared)):
            counts = await _import(target, origin, files)
            assert (counts["documents"], counts["unchanged"]) == (2, 0)
            await target.wait_idle()
            assert _describe_difference(await _export_lines(target), files) == []
            await _assert_same_answers(source, target, "home")


Files = dict[str, list[dict[str, Any]]]


def _describe_difference(here: Files, there: Files) -> list[str]:
    """Line by line and field by field, for whoever has to find out why."""
    found = [] if here.keys() == there.keys() else [f"files {sorted(here)} and {sorted(there)}"]
    for name in here.keys() & there.keys():
        if len(here[name]) != len(there[name]):
            found.append(f"{name}: {len(here[name])} lines and {len(there[name])}")
        for left, right in zip(here[name], there[name], strict=False):
            fields = sorted(left.keys() | right.keys())
            unlike = [field for field in fields if left.get(field) != right.get(field)]
            found += [f"{name}: {field} {left.get(field)!r} and {right.get(field)!r}" for field in unlike]
    return found


async def _assert_same_answers(source: RunningService, target: RunningService, namespace: str) -> None:
    """Assert that lists, versions and searches answer the same."""
    for kind in ("documents", "memories", "chunks"):
        here, there = [await client.list_items(namespace, kind) for client in (source, target)]
        assert _comparable(here, kind) == _comparable(there, kind)
    here, there = [await client.search(namespace, "Where does Ada live?") for client in (source, target)]
    assert sorted(map(_result_key, here)) == sorted(map(_result_key, there))


def _comparable(items: list[Any], kind: str) -> list[Any]:
    """A chunk is made again, with the time of its document."""
    kept = [{**item, "system": ""} for item in items] if kind == "chunks" else items
    return sorted(kept, key=lambda item: str(item["id"]))


def _result_key(result: Any) -> tuple[str, float]:
    return result.get("memory") or result.get("chunk"), round(result["similarity"], 4)


async def test_a_large_text_and_a_file_travel_as_blobs(tmp_path: Path) -> None:
    async with running_service(tmp_path / "a") as source, running_service(tmp_path / "b") as target:
        large = "\n\n".join(f"Line {number}: the ferry leaves at noon." for number in range(9000))
        await source.add_document("home", large, id="large", taskType="superrag")
        files = {"file": ("note.md", b"# Bees\n\nThey are back.", "text/markdown")}
        await source.client.ok("POST", "/ns/home/document/file", files=files)
        await source.wait_idle()
        exported = await _export_lines(source)
        assert sum(1 for line in exported["home"] if "blob" in json.dumps(line)) == 2
        await _import(target, source, exported)
        await target.wait_idle()
        assert await _export_lines(target) == exported
        assert len(await target.search("home", "ferry", limit=3)) == 3


async def test_an_import_goes_nowhere_where_something_else_is(tmp_path: Path) -> None:
    async with running_service(tmp_path / "a") as source, running_service(tmp_path / "b") as target:
        await source.add_document("home", "Ada lives in Berlin.", id="x")
        await source.wait_idle()
        lines = (await source.client("GET", "/admin/export?namespace=home")).text
        await target.add_document("home", "Somebody else's.", id="y")
        await target.client.ok("DELETE", "/ns/home")
        await target.add_document("home", "Another life.", id="z")
        await target.client.fails(409, "POST", "/admin/import", content=lines)
        assert [document["id"] for document in await target.list_items("home", "documents")] == ["z"]
        document = lines.splitlines()[1].replace("home#0", "nobody#0")
        await target.client.fails(409, "POST", "/admin/import", content=document)


async def test_a_line_that_is_none_is_refused_with_its_number(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        lines = '{"kind":"end","documents":0}\n{"kind":"document","incarnation":7}'
        refusal = await service.client.fails(400, "POST", "/admin/import", content=lines)
        assert "Line 2" in refusal["details"]
        await service.client.fails(404, "GET", "/admin/export?namespace=nobody")
        await service.client.fails(404, "GET", f"/admin/blobs/{'0' * 64}")
        body = {"name": "app", "role": "write"}
        writer = service.client.as_key((await service.client.ok("POST", "/admin/keys", body))["key"])
        await writer.fails(403, "GET", "/admin/export")
        await writer.fails(403, "POST", "/admin/import", content=lines)


async def test_a_line_holds_no_more_than_a_request_could_have_stored(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.add_document("home", "Ada lives in Berlin.", id="x")
        await service.wait_idle()
        exported = (await service.client("GET", "/admin/export?namespace=home")).text.splitlines()
        namespace, document = json.loads(exported[0]), json.loads(exported[1])
        address = "https://user:password@example.org/"
        changed: list[dict[str, Any]] = [
            *({"id": id_} for id_ in (".", "..", "a\nb", "a" * 256, "")),
            *({"key": key} for key in ("../../x", "A" * 32)),
            *({"metadata": {"tags": [""] * 65_536}}, {"group": {"tags": [""] * 65_536}}, {"metadata": {"a": {}}}),
            *({"source": {"blob": {"sha256": digest, "size": 1}}} for digest in ("../../x", "a" * 63)),
            *({"upload": {"blob": {"sha256": digest, "size": 1}}} for digest in ("//etc/passwd", "A" * 64)),
            *({"url": address}, {"source": {"text": f" {address}"}}, {"incarnation": "home/../#0"}),
        ]
        refused = [json.dumps({**document, **fields}) for fields in changed]
        refused += [
            json.dumps(namespace | {name: value}) for name, value in (("name", ".."), ("incarnations", ["a/b#0"]))
        ]
        refused += [
            exported[1].replace('"id":', '"id":"y","\\u0069d":', 1),
            f'{{"kind":"end","more":[{",".join(["0"] * 250_001)}]}}',
            '{"kind":"document","metadata":' + '{"a":' * 2000 + "1" + "}" * 2001,
        ]
        for line in refused:
            details = (await service.client.fails(400, "POST", "/admin/import", content=f"{exported[0]}\n{line}"))[
                "details"
            ]
            assert details.startswith("Line 2"), details
        assert [row["id"] for row in await service.list_items("home", "documents")] == ["x"]


async def test_imported_keys_end_with_the_key_that_imported_them(tmp_path: Path) -> None:
    """Whatever issuer their lines name: none, one that stays, one that comes later, themselves, each other."""
    now = datetime.now(UTC)
    async with running_service(tmp_path) as service:
        issued = await service.client.ok("POST", "/admin/keys", {"name": "restorer", "role": "admin"})
        stays = await service.client.ok("POST", "/admin/keys", {"name": "stays", "role": "admin"})
        restorer = service.client.as_key(issued["key"])
        made = [create_key(f"key {number}", "admin", None, now=now) for number in range(8)]
        ids = [change.id for change, _ in made]
        issuers = [None, "admin", stays["id"], ids[4], ids[5], ids[4], ids[6], ids[0]]
        lines = [
            change.model_copy(update={"issuer": issuer}).model_dump_json()
            for (change, _), issuer in zip(made, issuers, strict=True)
        ]
        assert (await restorer.ok("POST", "/admin/import", content="\n".join(lines)))["settings"] == 8
        shown = {key["id"]: key["issuer"] for key in (await service.client.ok("GET", "/admin/keys"))["keys"]}
        assert shown[ids[7]] == ids[0]
        for _, secret in made:
            await service.client.as_key(secret).ok("GET", "/admin/whoami")
        await service.client.ok("DELETE", f"/admin/keys/{issued['id']}")
        for _, secret in made:
            await service.client.as_key(secret).fails(401, "GET", "/admin/whoami")


async def test_a_whole_export_keeps_its_tree_of_keys(tmp_path: Path) -> None:
    async with running_service(tmp_path / "from") as service:
        lead = await service.client.ok("POST", "/admin/keys", {"name": "lead", "role": "admin"})
        child = await service.client.as_key(lead["key"]).ok("POST", "/admin/keys", {"name": "child"})
        exported = (await service.client("GET", "/admin/export")).text
    async with running_service(tmp_path / "to") as service:
        restorer = await service.client.ok("POST", "/admin/keys", {"name": "restorer", "role": "admin"})
        await service.client.as_key(restorer["key"]).ok("POST", "/admin/import", content=exported)
        shown = {key["id"]: key["issuer"] for key in (await service.client.ok("GET", "/admin/keys"))["keys"]}
        assert (shown[child["id"]], shown[lead["id"]]) == (lead["id"], restorer["id"])


async def test_a_key_that_no_service_can_have_issued_is_not_imported(tmp_path: Path) -> None:
    change, _ = create_key("k", "read", None, now=datetime.now(UTC))
    false: list[dict[str, Any]] = [
        {"id": "admin"}, {"id": ""}, {"id": "a_b"}, {"sha256": ""}, {"previous_sha256": "x"}, {"namespaces": ("a b",)},
        {"scopes": ("root",)}, {"rate_limit": 0}, {"name": "x" * 201},
    ]  # fmt: skip
    async with running_service(tmp_path) as service:
        for fields in false:
            line = change.model_copy(update=fields).model_dump_json()
            assert "Line 1" in (await service.client.fails(400, "POST", "/admin/import", content=line))["details"], line


async def test_an_import_brings_no_deleted_content_back(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.client.ok("POST", "/ns/home/document", {"id": "a", "content": "Ada lives in Porto."})
        before = (await service.client("GET", "/admin/export?namespace=home")).text.splitlines()
        await service.client.ok("DELETE", "/ns/home")
        taken = json.loads(before[0]) | {"name": "elsewhere"}
        refused = await service.client.fails(409, "POST", "/admin/import", content=json.dumps(taken))
        assert "deleted" in refused["error"]
        assert (await service.client.ok("GET", "/ns"))["namespaces"] == []


async def test_an_operator_imports_no_key_that_may_more_or_lasts_longer(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    async with running_service(tmp_path) as service:
        granted = {"role": "admin", "scopes": ["admin", "write"], "expiresInDays": 1}
        issued = await service.client.ok("POST", "/admin/keys", {"name": "restorer", **granted})
        restorer = service.client.as_key(issued["key"])
        soon = now + timedelta(hours=1)
        above: list[dict[str, Any]] = [
            {}, {"expires_at": soon}, {"scopes": ("write",)}, {"scopes": ("read",), "expires_at": soon}
        ]  # fmt: skip
        for fields in above:
            change, _ = create_key("evil", "admin", None, now=now, **fields)
            refusal = await restorer.fails(403, "POST", "/admin/import", content=change.model_dump_json())
            assert "evil" in refusal["error"]
        change, secret = create_key("app", "admin", None, now=now, scopes=("write",), expires_at=soon)
        ended, _ = create_key("ended", "admin", None, now=now)
        lines = f"{change.model_dump_json()}\n{revoke_key(ended, now).model_dump_json()}"
        assert (await restorer.ok("POST", "/admin/import", content=lines))["settings"] == 2
        assert (await service.client.as_key(secret).ok("GET", "/admin/whoami"))["scopes"] == ["write"]
