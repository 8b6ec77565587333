"""`recollect sealing`: the keys that seal the log, in the data directory of this machine, or shared by processes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.cli_settings import load_settings
from app.cli.conventions import JsonOption, confirm, emit, error_exit, examples_epilog, pluralize
from app.cli.local_process import exit_on_startup_error
from pipeline.settings import Settings

if TYPE_CHECKING:
    from pipeline.bus.sealing.key_table import KeyTable

sealing = typer.Typer(no_args_is_help=True, help="Keys that seal the log.")

NO_KEYS = "There are no sealing keys in {}: see RECOLLECT_SEALING."
DataDir = Annotated[Path | None, typer.Option(help="The directory of log and keys.")]


@sealing.command(name="backup", epilog=examples_epilog("recollect sealing backup keys-backup.db"))
def back_up(
    file: Annotated[Path, typer.Argument(help="The file to write.", dir_okay=False)],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Overwrite the file without asking.")] = False,
    data_dir: DataDir = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the keys of sealed records, wrapped, to a file; the service may run."""
    from app.resources import open_sealing_keys
    from pipeline.bus.sealing.key_table import back_up_keys

    settings = load_settings(data_dir=data_dir)
    _require_keys(settings)
    if file.exists() and not yes:
        confirm(f"{file} is there already. Overwrite it?")
    with exit_on_startup_error():
        count = back_up_keys(open_sealing_keys(settings), file)
    text = f"{pluralize(count, 'block')} of keys written to {file}."
    hint = "They open with the wrapping key only: keep that elsewhere."
    emit({"blocks": count, "file": str(file)}, text, hint, as_json=as_json)


@sealing.command(name="restore", epilog=examples_epilog("recollect sealing restore keys-backup.db"))
def restore(
    file: Annotated[Path, typer.Argument(help="A file that `sealing backup` wrote.", exists=True, dir_okay=False)],
    *,
    data_dir: DataDir = None,
    as_json: JsonOption = False,
) -> None:
    """Add the keys that are missing here from a backup. Keys that were destroyed stay destroyed."""
    settings = load_settings(data_dir=data_dir)
    with exit_on_startup_error():
        added = _open_keys(settings).restore(file)
    emit({"blocks": added}, f"{pluralize(added, 'block')} of keys added.", as_json=as_json)


@sealing.command(name="rotate", epilog=examples_epilog("recollect sealing rotate", "recollect sealing rotate --json"))
def rotate(*, data_dir: DataDir = None, as_json: JsonOption = False) -> None:
    """Make a new wrapping key, wrap all keys with it, and drop the old one, while no service runs.

    Backups of the keys from before can't be opened any more. On Kafka, give every process the new key file.
    """
    from pipeline.bus.bus_factory import open_key_file
    from pipeline.bus.sealing.key_file import KEY_BYTES

    settings = load_settings(data_dir=data_dir)
    _require_keys(settings)
    with exit_on_startup_error(), _locked(settings), open_key_file(settings) as file:
        key = os.urandom(KEY_BYTES)
        file.write([key, *file.read()])
        _open_keys(settings)
        file.write([key])
    text = "All keys are wrapped with a new key. Back up both: `recollect sealing backup`, and a copy of"
    emit({"keyFile": str(file.path)}, f"{text} {file.path}.", as_json=as_json)


@sealing.command(name="rewrap", epilog=examples_epilog("recollect sealing rewrap", "recollect sealing rewrap --json"))
def rewrap(*, data_dir: DataDir = None, as_json: JsonOption = False) -> None:
    """Let Vault encrypt the wrapping keys under the newest version of its key; the service may run."""
    from pipeline.bus.bus_factory import open_key_file

    with exit_on_startup_error(), open_key_file(load_settings(data_dir=data_dir)) as file:
        changed = file.rewrap()
    emit({"keys": changed}, f"{pluralize(changed, 'wrapping key')} encrypted anew in {file.path}.", as_json=as_json)


def _require_keys(settings: Settings) -> None:
    from app.resources import open_sealing_keys, sealing_uri
    from pipeline.bus.sealing.sealed_records import WRAPPING_NAME

    with exit_on_startup_error():
        if open_sealing_keys(settings).read(WRAPPING_NAME) is None:
            raise error_exit(NO_KEYS.format(sealing_uri(settings)))


def _open_keys(settings: Settings) -> "KeyTable":
    from app.resources import SystemClock, open_sealing_keys
    from pipeline.bus.bus_factory import open_key_table

    return open_key_table(settings, open_sealing_keys(settings), SystemClock())


@contextmanager
def _locked(settings: Settings) -> Iterator[None]:
    """Keep a service from starting on the embedded log; DataDirectoryLockedError while one runs.

    On Kafka, a process that runs seals nothing more with keys that it can't wrap, until it is restarted.
    """
    from pipeline.bus.sqlite.directory_lock import DirectoryLock

    if settings.kafka_bootstrap is not None:
        yield
        return
    folder = settings.data_dir / "log"
    folder.mkdir(parents=True, exist_ok=True)
    lock = DirectoryLock(folder)
    try:
        yield
    finally:
        lock.release()
