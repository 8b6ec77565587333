"""`recollect export` and `import`: namespaces or everything as files, a few lines in memory at a time."""

import json
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
from rich.console import Console
from rich.progress import Progress

from api.commandline.conventions import Ending, Json, examples, failure, show_json
from api.remote import Key, Service, Url
from schemas.archive import FORMAT, Manifest

EXPORTS = examples(
    "recollect export alice bob backup",
    "recollect export --all backup.tar",
    "recollect export alice a.tar --json",
)
IMPORTS = examples("recollect import backup", "recollect import backup.tar --json")
MANIFEST = "manifest.json"
SETTINGS = "settings.jsonl"
PORTION_LINES = 100
PORTION_BYTES = 8 * 1024 * 1024


def export(
    chosen: Annotated[list[str], typer.Argument(help="Namespaces, then a folder, or a file ending in .tar.")],
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Every namespace, the settings and keys.")
    ] = False,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Write namespaces, or all there is, to a folder or a .tar file."""
    *names, target = chosen
    if everything == bool(names):
        raise failure("Say which namespaces, or --all, and then where to write to.", Ending.USAGE)
    service = Service.of(url, key)
    with _writing(Path(target)) as folder:
        total = _export(service, folder, None if everything else names)
    if as_json:
        show_json({"documents": total, "target": target})
    else:
        typer.echo(f"{total} documents written to {target}", err=True)


def take(
    source: Annotated[Path, typer.Argument(exists=True, help="A folder or .tar file that `export` wrote.")],
    *,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Read what `export` wrote into this deployment; doing it twice changes nothing."""
    service = Service.of(url, key)
    with _reading(source) as folder:
        _check(folder / MANIFEST)
        counts = dict.fromkeys(("documents", "memories", "settings", "kept"), 0)
        files = [folder / SETTINGS, *sorted((folder / "namespaces").glob("*.jsonl"))]
        there = [file for file in files if file.exists()]
        with _bar("Importing", sum(file.stat().st_size for file in there)) as read:
            for file in there:
                _import(service, folder, file, counts, read)
    if as_json:
        show_json(counts)
        return
    accepted = f"{counts['documents']} documents and {counts['memories']} memories accepted"
    typer.echo(f"{accepted}, {counts['kept']} documents were here already", err=True)


def _export(service: Service, folder: Path, names: list[str] | None) -> int:
    (folder / "namespaces").mkdir(parents=True, exist_ok=True)
    if names is None:
        _stream(service, folder / SETTINGS, {})
        lines = map(json.loads, (folder / SETTINGS).read_bytes().splitlines())
        names = [line["name"] for line in lines if line["kind"] == "namespace"]
    total = 0
    with _bar("Exporting", len(names)) as done:
        for name in names:
            file = folder / "namespaces" / f"{name}.jsonl"
            total += _stream(service, file, {"namespace": name})
            _fetch_blobs(service, folder, file)
            done(1)
    manifest = Manifest(written_by=f"recollect {version('recollect')}", at=datetime.now(UTC))
    # Last: an export that was interrupted has none.
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n")
    return total


def _stream(service: Service, file: Path, query: dict[str, Any]) -> int:
    """Lines into a file; how many documents the last one counts."""
    last = b""
    with file.open("wb") as out:
        for line in service.lines("/admin/export", params=query):
            last = line
            out.write(line + b"\n")
    end = json.loads(last or b"{}")
    if end.get("kind") != "end":
        raise failure(f"The service broke off while it was writing {file.name}: try again.")
    return int(end["documents"])


def _fetch_blobs(service: Service, folder: Path, file: Path) -> None:
    with file.open("rb") as lines:
        for line in lines:
            for digest in _digests(line):
                blob = _blob(folder, digest)
                if not blob.exists():
                    blob.parent.mkdir(parents=True, exist_ok=True)
                    blob.write_bytes(service.fetch(f"/admin/blobs/{digest}"))


def _import(
    service: Service, folder: Path, file: Path, counts: dict[str, int], read: Callable[[int], None]
) -> None:
    for portion in _portions(file):
        for line in portion:
            for digest in _digests(line):
                blob = _blob(folder, digest)
                if not blob.exists():
                    raise failure(f"{blob} is missing: {file.name} names it.")
                service.call("POST", "/admin/blobs", content=blob.read_bytes())
        answer = service.call("POST", "/admin/import", content=b"".join(portion))
        for name in counts:
            counts[name] += answer[name]
        read(sum(map(len, portion)))


def _portions(file: Path) -> Iterator[list[bytes]]:
    portion: list[bytes] = []
    size = 0
    with file.open("rb") as lines:
        for line in filter(bytes.strip, lines):
            if portion and (len(portion) == PORTION_LINES or size + len(line) > PORTION_BYTES):
                yield portion
                portion, size = [], 0
            portion.append(line)
            size += len(line)
    if portion:
        yield portion


def _digests(line: bytes) -> list[str]:
    """The blobs that a document names."""
    document = json.loads(line)
    named = ((document.get("source") or {}).get("blob"), (document.get("upload") or {}).get("blob"))
    return [blob["sha256"] for blob in named if blob]


def _blob(folder: Path, digest: str) -> Path:
    return folder / "blobs" / digest[:2] / digest[2:]


def _check(file: Path) -> None:
    if not file.exists():
        raise failure(f"{file} is missing: this is no export, or one that was interrupted.")
    try:
        manifest = Manifest.model_validate_json(file.read_text())
    except ValidationError as error:
        raise failure(f"{file} is not that of an export: {error.errors()[0]['msg']}") from error
    if manifest.version > FORMAT:
        raise failure(f"This export has format {manifest.version}; this version reads up to {FORMAT}.")


@contextmanager
def _bar(doing: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, where that is a terminal; call what is yielded with what is done."""
    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(doing, total=total)
        yield lambda more: bars.advance(task, more)


@contextmanager
def _writing(target: Path) -> Iterator[Path]:
    """The folder to write to; what is to be a file is packed in the end."""
    if target.suffix != ".tar":
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise failure(f"{target} is there already. Give a new or empty folder.")
        yield target
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=".export-") as folder:
        yield Path(folder)
        with tarfile.open(target, "w") as tar:
            tar.add(folder, arcname=".")


@contextmanager
def _reading(source: Path) -> Iterator[Path]:
    if source.is_dir():
        yield source
        return
    with TemporaryDirectory(dir=source.parent, prefix=".import-") as folder:
        try:
            with tarfile.open(source) as tar:
                tar.extractall(folder, filter="data")
        except tarfile.TarError as error:
            raise failure(f"{source} can't be read: {error}") from error
        yield Path(folder)
