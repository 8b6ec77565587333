"""`recollect import`: an export of this program, or the past from other systems with `--from`."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from app.cli.cli_settings import load_settings
from app.cli.commands.archive_commands import import_archive
from app.cli.conventions import ExitCode, Terminal, error_exit, say
from app.cli.importing.document_upload import DocumentUpload
from app.cli.importing.import_report import ImportReport, LeftOutLog, LeftOutLogError
from app.cli.importing.sent_items import FILE_NAME, SentItems
from app.cli.importing.supermemory_server import read_supermemory_server
from app.cli.remote_service import RemoteService
from app.cli.service_command import ServiceCall, app
from app.importers.imported_item import ImportedItem, LeftOut, Read, SourceError, to_namespace
from app.importers.reader_registry import NAMING_OWNERS, READERS

_ITEMS_PER_LINE = 50
NO_OWNER = "it names no user, group or tag: give --namespace"


@app.asks(
    "recollect import backup.tar",
    "recollect import --from chatgpt export.zip --namespace me",
    "recollect import --from mem0 memories.json --json",
    "recollect import --from supermemory https://api.supermemory.ai --source-key sm_...",
    name="import",
)
def import_command(
    call: ServiceCall,
    source: Annotated[str, typer.Argument(help="A file, folder or archive; with --from supermemory also an address.")],
    *,
    source_format: Annotated[
        str | None,
        typer.Option(
            "--from", help=f"The system it comes from: {', '.join(READERS)}. Default: an export of recollect."
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(help="The namespace. Default: the users, groups or tags that mem0, supermemory and zep name."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Send also what earlier imports sent.")] = False,
    left_out: Annotated[Path | None, typer.Option(help="A file for a JSON line on each item left out.")] = None,
    source_key: Annotated[
        str | None, typer.Option(envvar="RECOLLECT_SOURCE_KEY", help="The key of the server that is read.")
    ] = None,
) -> None:
    """Import an export of recollect, or bring memories, chats, notes and mails from elsewhere.

    An interrupted import goes on where it stopped when it is repeated; importing again sends what is new or changed.
    """
    if source_format is None:
        if not Path(source).exists():
            raise error_exit(f"SOURCE: there is no {source}.", ExitCode.USAGE)
        import_archive(call, Path(source))
        return
    items = _read_source(source_format, source, source_key, namespace)
    service = call.service
    with _opened(left_out) as log:
        report = ImportReport(log)
        problem = _import_items(service, items, namespace, report, again=again)
    if call.as_json:
        call.emit(report.to_json())
    else:
        report.print()
    if problem is not None:
        raise error_exit(f"{problem}\nWhat came before is imported; a repeated import goes on from there.")


def _read_source(source_format: str, source: str, source_key: str | None, namespace: str | None) -> Read:
    """Return the items of a source; typer.Exit for options that can't be right."""
    if source_format not in READERS:
        raise error_exit(f"--from: takes {', '.join(READERS)}; not {source_format}.", ExitCode.USAGE)
    if namespace is None and source_format not in NAMING_OWNERS:
        raise error_exit(f"--namespace: say where the {source_format} export goes.", ExitCode.USAGE)
    if namespace is not None and namespace != to_namespace(namespace):
        raise error_exit("--namespace: letters, digits, _, : and -, at most 100 of them.", ExitCode.USAGE)
    if source.startswith(("http://", "https://")):
        if source_format != "supermemory":
            raise error_exit(f"SOURCE: --from {source_format} takes a file, not an address.", ExitCode.USAGE)
        return read_supermemory_server(source, source_key or "")
    if not Path(source).exists():
        raise error_exit(f"SOURCE: there is no {source}.", ExitCode.USAGE)
    return READERS[source_format](Path(source))


def _import_items(
    service: RemoteService, items: Read, namespace: str | None, report: ImportReport, *, again: bool
) -> str | None:
    """Send all items; returns why the source could not be read to its end, if so."""
    sent = _open_sent_items(load_settings().data_dir / FILE_NAME)
    upload = DocumentUpload(service, sent, report, again=again)
    problem: str | None = None
    try:
        with _progress(report) as advance:
            try:
                for item in items:
                    _add_item(upload, report, item, namespace)
                    advance()
            except SourceError as error:
                problem = str(error)
            except OSError as error:
                problem = f"The source can't be read: {error}."
            upload.flush()
    except KeyboardInterrupt:
        say("Stopped. Repeat the import to go on from here.", err=True)
        raise
    finally:
        sent.close()
    return problem


def _open_sent_items(file: Path) -> SentItems:
    try:
        return SentItems(file)
    except (OSError, sqlite3.Error) as error:
        raise error_exit(f"{file}, which lists what imports have sent, can't be opened: {error}") from error


def _add_item(
    upload: DocumentUpload, report: ImportReport, item: ImportedItem | LeftOut, namespace: str | None
) -> None:
    if isinstance(item, LeftOut):
        report.leave_out(item)
        return
    report.read += 1
    place = namespace or (item.namespace and to_namespace(item.namespace))
    if place:
        upload.add(place, item)
    else:
        report.leave_out(LeftOut(item.id, NO_OWNER))


@contextmanager
def _progress(report: ImportReport) -> Iterator[Callable[[], None]]:
    """Show a line with what was read and sent on standard error; yields the function that renews it."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Terminal(stderr=True), transient=True) as line:
        task = line.add_task("Importing", total=None)

        def renew() -> None:
            if report.read % _ITEMS_PER_LINE == 0:
                sent = report.imported + report.updated
                text = f"{report.read:,} read, {sent:,} sent, {report.unchanged:,} sent before"
                line.update(task, description=text)

        yield renew


@contextmanager
def _opened(file: Path | None) -> Iterator[LeftOutLog | None]:
    if file is None:
        yield None
        return
    try:
        log = LeftOutLog(file)
    except OSError as error:
        raise error_exit(f"--left-out: {error}", ExitCode.USAGE) from error
    try:
        yield log
    except LeftOutLogError as error:
        raise error_exit(f"--left-out: {error}\nWhat came before is imported.") from error
    finally:
        log.close()
