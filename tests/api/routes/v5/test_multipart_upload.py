"""Files over HTTP."""

from typing import Any

import pytest

from schemas.limits import MAX_FILE_BYTES, MAX_INGEST_BODY_BYTES
from tests.api.conftest import Service
from tests.api.routes.v5.test_document_routes import submissions
from tests.support.contract_client import ContractClient

pytestmark = pytest.mark.anyio

PATH = "/ns/alice/document/file"


def file(data: bytes = b"# Note\n\nAda lives in Berlin.", name: str = "note.md") -> dict[str, Any]:
    """The part of the form that is the file."""
    return {"file": (name, data, "text/markdown")}


async def test_a_file_is_stored_before_it_is_accepted(service: Service, client: ContractClient) -> None:
    form = {"metadata": '{"a": 1}', "fileType": "text", "mimeType": "text/x-markdown", "date": "2024-05-01"}
    added = await client.ok("POST", PATH, files=file(), data=form)
    (event,) = await submissions(service)
    assert event.upload is not None
    assert (event.upload.filename, event.upload.mime_type, event.upload.file_type) == (
        "note.md",
        "text/x-markdown",
        "text",
    )
    assert await service.state.blobs.get(event.upload.blob) == b"# Note\n\nAda lives in Berlin."
    read = await client.ok("GET", f"/ns/alice/document/{added['id']}")
    assert read["metadata"] == {"a": 1}


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ('filename="=?utf-8?Q?n=C3=B6tes.md?="', "nötes.md"),
        ("filename=\"=?utf-8?B?bsO2?=\"; filename*=utf-8''%E6%9D%B1%20n%C3%B6tes.md", "東 nötes.md"),
        ('filename="=?odd?X?n.md"', "=?odd?X?n.md"),
        ('filename="plain.md"', "plain.md"),
        ('filename="The %22final%22 plan.md"', 'The "final" plan.md'),
        ('filename="100%25 of %41.md"', "100%25 of %41.md"),
    ],
)
async def test_names_of_files_are_read_however_they_are_sent(
    service: Service, client: ContractClient, sent: str, kept: str
) -> None:
    part = f'--b\r\nContent-Disposition: form-data; name="file"; {sent}\r\n\r\nAda.\r\n--b--\r\n'
    headers = {"content-type": "multipart/form-data; boundary=b"}
    await client.ok("POST", PATH, content=part.encode(), headers=headers)
    (event,) = await submissions(service)
    assert event.upload is not None
    assert event.upload.filename == kept


async def test_a_field_that_is_too_long_is_measured_in_characters(client: ContractClient) -> None:
    answer = await client.fails(400, "POST", PATH, files=file(), data={"supportingContext": "x" * 1501})
    assert "must have at most 1500 characters, not 1501" in str(answer)


async def test_the_same_file_again_is_the_same_document_and_no_work(service: Service, client: ContractClient) -> None:
    first = await client.ok("POST", PATH, files=file())
    assert await client.ok("POST", PATH, files=file()) == first
    assert len(await submissions(service)) == 1


async def test_a_file_may_replace_a_document_and_all_that_was_said_of_it(client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {"content": "x", "id": "a/b", "metadata": {"a": 1}})
    assert await client.ok("POST", f"{PATH}/a/b", files=file()) == {"id": "a/b", "status": "queued"}
    assert (await client.ok("GET", "/ns/alice/document/a/b"))["metadata"] == {}


async def test_a_changed_file_keeps_what_was_said_of_the_document(client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {"content": "x", "id": "n", "metadata": {"a": 1}})
    await client.ok("PATCH", f"{PATH}/n", files=file(), data={"metadata": '{"b": "2"}'})
    assert (await client.ok("GET", "/ns/alice/document/n"))["metadata"] == {"a": 1, "b": "2"}


async def test_a_form_with_nothing_in_it_changes_nothing(service: Service, client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {"content": "x", "id": "n"})
    headers = {"content-type": "multipart/form-data; boundary=b"}
    answer = await client.ok("PATCH", f"{PATH}/n", content=b"--b--\r\n", headers=headers)
    assert answer == {"id": "n", "status": "queued"}
    assert len(await submissions(service)) == 1


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_a_file_for_an_unknown_document_is_not_found(client: ContractClient, method: str) -> None:
    await client.fails(404, method, f"{PATH}/nope", files=file())


@pytest.mark.parametrize(
    ("form", "path"),
    [
        ({"metadata": "not json"}, ["metadata"]),
        ({"metadata": "[1]"}, ["metadata"]),
        ({"group": '{"a": {"b": 1}}'}, ["group"]),
        ({"fileType": "spreadsheet"}, ["fileType"]),
        ({"mimeType": "markdown"}, ["mimeType"]),
        ({"id": "mine"}, ["id"]),
        ({"supportingContext": "x" * 1501}, ["supportingContext"]),
    ],
)
async def test_fields_of_a_form_are_checked_like_those_of_a_body(
    client: ContractClient, form: dict[str, str], path: list[str]
) -> None:
    refused = await client.fails(400, "POST", PATH, files=file(), data=form)
    assert [problem["path"] for problem in refused["error"]] == [path]


async def test_what_is_no_form_is_refused(client: ContractClient) -> None:
    await client.fails(400, "POST", PATH, {"file": "x"})
    await client.fails(400, "POST", PATH, data={"file": "text"}, files={"other": b"x"})
    await client.fails(400, "POST", PATH, data={"date": "2024"}, files={"none": b""})
    headers = {"content-type": "multipart/form-data; boundary=b"}
    for broken in (b"", b"--b\r\nnonsense", b"--b\r\n\xff\r\n\r\nx\r\n--b--", b"--b--\r\n"):
        await client.fails(400, "POST", PATH, content=broken, headers=headers)
    await client.fails(400, "POST", PATH, content=b"x", headers={"content-type": "multipart/form-data"})


async def test_an_empty_file_is_refused(client: ContractClient) -> None:
    await client.fails(400, "POST", PATH, files=file(b""))


async def test_a_file_of_fifty_megabytes_is_taken_and_one_byte_more_is_not(client: ContractClient) -> None:
    await client.ok("POST", PATH, files=file(bytes(MAX_FILE_BYTES)))
    refused = await client.fails(413, "POST", PATH, files=file(bytes(MAX_FILE_BYTES + 1)))
    assert "50 MB" in refused["details"]


async def test_a_form_far_beyond_the_limit_is_refused_while_it_is_read(client: ContractClient) -> None:
    refused = await client.fails(413, "POST", PATH, files=file(bytes(MAX_INGEST_BODY_BYTES)))
    assert "too large" in refused["error"]
