"""Exports and their import on the machine of the command: no path leads elsewhere, only the owner reads them."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
import typer

from app.cli.commands import archive_commands
from app.cli.remote_service import RemoteService
from app.cli.service_command import ServiceCall

END = b'{"kind":"end","documents":1}'
SECRET = "not of the export"


def document(digest: str) -> bytes:
    return json.dumps({"kind": "document", "upload": {"blob": {"sha256": digest, "size": 1}}}).encode()


class HostileService:
    """A service that names blobs and namespaces as it likes, and notes what it is sent."""

    def __init__(self, digest: str, name: str = "alice") -> None:
        self.digest, self.name = digest, name
        self.received: list[bytes] = []

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.received.append(request.read())
        if request.url.path == "/admin/export":
            settings = json.dumps({"kind": "namespace", "name": self.name}).encode()
            line = document(self.digest) if "namespace" in request.url.params else settings
            return httpx2.Response(200, content=line + b"\n" + END + b"\n")
        return httpx2.Response(200, json={"documents": 0, "memories": 0, "settings": 0, "unchanged": 0})

    def client(self) -> RemoteService:
        return RemoteService(httpx2.Client(transport=httpx2.MockTransport(self.answer), base_url="http://test"))


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A file beside the export that must be neither read nor written."""
    file = tmp_path / "secret"
    file.write_text(SECRET)
    yield file
    assert file.read_text() == SECRET


@pytest.mark.parametrize("form", ["../../{name}", "/{path}", "//{path}"])
def test_an_export_writes_nothing_outside_its_folder(form: str, outside: Path, tmp_path: Path) -> None:
    digest = form.format(name=outside.name, path=str(outside)[1:])
    with pytest.raises(typer.Exit):
        archive_commands._export_namespaces(HostileService(digest).client(), tmp_path / "export", ["alice"])


def test_an_export_takes_no_path_for_a_name(outside: Path, tmp_path: Path) -> None:
    with pytest.raises(typer.Exit):
        archive_commands._export_namespaces(HostileService("0" * 64, "../x").client(), tmp_path / "export", None)


@pytest.mark.parametrize("form", ["../../{name}", "/{path}", "//{path}"])
def test_an_import_sends_no_file_outside_its_folder(
    form: str, outside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = form.format(name=outside.name, path=str(outside)[1:])
    folder = tmp_path / "export"
    (folder / "namespaces").mkdir(parents=True)
    (folder / "namespaces" / "alice.jsonl").write_bytes(document(digest) + b"\n")
    (folder / "manifest.json").write_text('{"written_by": "x", "at": "2026-11-30T00:00:00Z"}')
    service = HostileService(digest)
    monkeypatch.setattr(RemoteService, "from_options", lambda *_: service.client())
    with pytest.raises(typer.Exit):
        archive_commands.import_archive(ServiceCall(as_json=True, url=None, key=None), folder)
    assert not any(SECRET.encode() in body for body in service.received)


@pytest.mark.parametrize("target", ["export", "export.tar"])
def test_only_its_owner_can_read_an_export(target: str, tmp_path: Path) -> None:
    with archive_commands._export_target(tmp_path / target) as folder:
        archive_commands._export_namespaces(HostileService("0" * 64).client(), folder, ["alice"])
    assert stat.S_IMODE((tmp_path / target).stat().st_mode) & 0o077 == 0
