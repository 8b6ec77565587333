"""`recollect export`, and the import of what it wrote: files of namespaces or a deployment, streamed by lines."""

import json
import os
import re
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.progress import Progress

from app.cli.conventions import (
    ExitCode,
    Terminal,
    confirm,
    error_exit,
    pluralize,
    say,
)
from app.cli.remote_service import RemoteService
from app.cli.service_command import ServiceCall, app
from pipeline.runtime.batches import batches_within
from schemas.export_format import DIGEST_PATTERN, FORMAT_VERSION, Manifest
from schemas.limits import NAMESPACE_PATTERN

MANIFEST_FILE = "manifest.json"
SETTINGS_FILE = "settings.jsonl"
BATCH_LINES = 100
BATCH_BYTES = 8 * 1024 * 1024


@app.asks(
    "recollect export alice bob backup", "recollect export --all backup.tar", "recollect export alice a.tar --json"
)
def export(
    call: ServiceCall,
    chosen: Annotated[
        list[str],
        typer.Argument(metavar="namespaces target", help="Namespaces, then a folder, or a file ending in .tar."),
    ],
    *,
    everything: Annotated[bool, typer.Option("--all", help="Every namespace, the settings and keys.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Overwrite a .tar file without asking.")] = False,
) -> None:
    """Write namespaces, or the whole deployment, to a folder or a .tar file."""
    *names, target = chosen
    if everything == bool(names):
        raise error_exit("Name namespaces, or give --all, and then the folder or file to write.", ExitCode.USAGE)
    if target.endswith(".tar") and Path(target).exists() and not yes:
        confirm(f"{target} is there already. Overwrite it?")
    service = call.service
    try:
        with _export_target(Path(target)) as folder:
            total = _export_namespaces(service, folder, None if everything else names)
    except OSError as error:
        raise error_exit(f"{target} can't be written: {error.strerror or error}. There is no new export.") from error
    if call.as_json:
        call.emit({"documents": total, "target": target})
    else:
        say(f"{pluralize(total, 'document')} written to {target}", err=True)


def import_archive(call: ServiceCall, source: Path) -> None:
    """Import an export into this deployment; importing it again changes nothing."""
    try:
        counts = _import_content(call.service, source)
    except OSError as error:
        where = "A .tar is unpacked beside it, which takes as much space again." if source.is_file() else ""
        raise error_exit(f"{error.filename or source}: {error.strerror or error}. {where}".rstrip()) from error
    if call.as_json:
        call.emit(counts)
        return
    accepted = f"{counts['documents']} documents and {counts['memories']} memories accepted"
    say(f"{accepted}, {counts['unchanged']} documents were here already", err=True)


def _import_content(service: RemoteService, source: Path) -> dict[str, int]:
    """Send everything that an export holds; return how much was accepted."""
    with _import_source(source) as folder:
        _check_manifest(folder / MANIFEST_FILE)
        counts = dict.fromkeys(("documents", "memories", "settings", "unchanged"), 0)
        files = [folder / SETTINGS_FILE, *sorted((folder / "namespaces").glob("*.jsonl"))]
        present = [file for file in files if file.exists()]
        with _progress_bar("Importing", sum(file.stat().st_size for file in present)) as advance:
            for file in present:
                _upload_file(service, folder, file, counts, advance)
    return counts


def _export_namespaces(service: RemoteService, folder: Path, names: list[str] | None) -> int:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "namespaces").mkdir(exist_ok=True)
    if names is None:
        _download_lines(service, folder / SETTINGS_FILE, {})
        lines = map(json.loads, (folder / SETTINGS_FILE).read_bytes().splitlines())
        names = [line["name"] for line in lines if line["kind"] == "namespace"]
    total = 0
    with _progress_bar("Exporting", len(names)) as advance:
        for name in names:
            file = _namespace_path(folder, name)
            total += _download_lines(service, file, {"namespace": name})
            _download_blobs(service, folder, file)
            advance(1)
    manifest = Manifest(written_by=f"recollect {version('recollect')}", at=datetime.now(UTC))
    # Written last, so that an interrupted export has no manifest.
    (folder / MANIFEST_FILE).write_text(manifest.model_dump_json(indent=2) + "\n")
    return total


def _download_lines(service: RemoteService, file: Path, query: dict[str, Any]) -> int:
    """Write the exported lines to a file; return the number of documents, which the last line holds."""
    last = b""
    with file.open("wb") as out:
        for line in service.stream_lines("/admin/export", params=query):
            last = line
            out.write(line + b"\n")
    end = json.loads(last or b"{}")
    if end.get("kind") != "end":
        raise error_exit(f"The service stopped while it wrote {file.name}. Export again.")
    return int(end["documents"])


def _download_blobs(service: RemoteService, folder: Path, file: Path) -> None:
    with file.open("rb") as lines:
        for line in lines:
            for digest in _blob_digests(line):
                blob = _blob_path(folder, digest)
                if not blob.exists():
                    blob.parent.mkdir(parents=True, exist_ok=True)
                    blob.write_bytes(service.fetch_bytes(f"/admin/blobs/{digest}"))


def _upload_file(
    service: RemoteService, folder: Path, file: Path, counts: dict[str, int], advance: Callable[[int], None]
) -> None:
    for batch in _batches(file):
        for line in batch:
            for digest in _blob_digests(line):
                blob = _blob_path(folder, digest)
                if not blob.exists():
                    raise error_exit(f"{blob} is missing: {file.name} refers to it.")
                service.request("POST", "/admin/blobs", content=blob.read_bytes())
        answer = service.request("POST", "/admin/import", content=b"".join(batch))
        for name in counts:
            counts[name] += answer[name]
        advance(sum(map(len, batch)))


def _batches(file: Path) -> Iterator[list[bytes]]:
    with file.open("rb") as lines:
        yield from batches_within(filter(bytes.strip, lines), len, BATCH_BYTES, BATCH_LINES)


def _blob_digests(line: bytes) -> list[str]:
    document = json.loads(line)
    blobs = ((document.get(field) or {}).get("blob") for field in ("source", "upload"))
    return [blob["sha256"] for blob in blobs if blob]


def _blob_path(folder: Path, digest: str) -> Path:
    """Return where an export keeps a blob; typer.Exit for a digest that would lead elsewhere."""
    if not re.fullmatch(DIGEST_PATTERN, digest):
        raise error_exit(f"A line of the export is invalid: {digest[:100]!r} is no SHA-256.")
    return folder / "blobs" / digest[:2] / digest[2:]


def _namespace_path(folder: Path, name: str) -> Path:
    """Return where an export keeps a namespace; typer.Exit for a name that would lead elsewhere."""
    if not re.fullmatch(NAMESPACE_PATTERN, name):
        raise error_exit(f"{name[:100]!r} is no name of a namespace.")
    return folder / "namespaces" / f"{name}.jsonl"


def _check_manifest(file: Path) -> None:
    if not file.exists():
        raise error_exit(
            f"{file} is missing: this is not an export, or an interrupted one. --from imports other formats."
        )
    try:
        manifest = Manifest.model_validate_json(file.read_text())
    except ValidationError as error:
        raise error_exit(f"{file} is not a manifest of an export: {error.errors()[0]['msg']}") from error
    if manifest.version > FORMAT_VERSION:
        raise error_exit(f"This export has format {manifest.version}; this version reads up to {FORMAT_VERSION}.")


@contextmanager
def _progress_bar(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error; yields the function that advances it."""
    with Progress(console=Terminal(stderr=True), transient=True) as bars:
        task = bars.add_task(description, total=total)
        yield lambda amount: bars.advance(task, amount)


@contextmanager
def _export_target(target: Path) -> Iterator[Path]:
    """Yield the folder to write to; packed into one file at the end if the target is a .tar file."""
    if target.suffix != ".tar":
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise error_exit(f"{target} is there already. Give a new or empty folder.")
        try:
            yield target
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            raise
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=".export-") as folder:
        content, packed = Path(folder, "content"), Path(folder, target.name)
        content.mkdir()
        yield content
        # Under its own name only once it is whole: an earlier export there is good until then.
        with open(packed, "wb", opener=_open_for_owner) as file, tarfile.open(fileobj=file, mode="w") as tar:
            tar.add(content, arcname=".")
        packed.replace(target)


def _open_for_owner(path: str, flags: int) -> int:
    """Open a new file so that nobody else on the machine can read it: an export holds what people wrote."""
    return os.open(path, flags, 0o600)


@contextmanager
def _import_source(source: Path) -> Iterator[Path]:
    if source.is_dir():
        yield source
        return
    with TemporaryDirectory(dir=source.parent, prefix=".import-") as folder:
        try:
            with tarfile.open(source) as tar:
                tar.extractall(folder, filter="data")
        except tarfile.TarError as error:
            reason = str(error).splitlines()[0].rstrip(":")
            hint = "It is not an archive of `recollect export`, or damaged. --from FORMAT imports other formats."
            raise error_exit(f"{source} can't be read ({reason}). {hint}") from error
        yield Path(folder)
