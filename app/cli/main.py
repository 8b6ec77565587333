"""The `recollect` command: `serve`, `doctor` and `topics`; app/cli/commands holds the others."""

import asyncio
import errno
import logging
from pathlib import Path
from typing import Annotated

import typer

from app.cli import sealing_commands
from app.cli.cli_settings import describe_unknown_settings, load_settings
from app.cli.commands import (
    archive_commands,
    audit_command,
    bucket_commands,
    connector_commands,
    content_commands,
    core_commands,
    demo_command,
    dlq_commands,
    import_command,
    key_commands,
    mcp_command,
    replay_command,
    status_command,
    usage_command,
)
from app.cli.conventions import ExitCode, JsonOption, emit, error_exit, examples_epilog, say
from app.cli.local_process import apply_process_tuning, exit_on_startup_error, run_event_loop
from app.cli.service_command import app
from pipeline.errors import OutageError, StageFaultError
from pipeline.runtime import log_format
from pipeline.settings import Settings

__all__ = ["app"]

log = logging.getLogger(__name__)
ROLES = ("api", "pipeline", "connectors")

app.add_typer(key_commands.keys, name="keys")
app.add_typer(sealing_commands.sealing, name="sealing")
app.add_typer(bucket_commands.buckets, name="buckets")
app.add_typer(dlq_commands.dlq, name="dlq")
app.add_typer(connector_commands.connectors, name="connectors")


@app.command(
    epilog=examples_epilog(
        "recollect serve",
        "recollect serve --port 0 --data-dir /srv/recollect",
        "recollect serve --only pipeline,connectors",
    )
)
def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 0 chooses a free one.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The directory of log and tables.")] = None,
    only: Annotated[
        str | None, typer.Option(help="Roles of this process: api,pipeline,connectors (with Kafka).")
    ] = None,
) -> None:
    """Start the service. Settings come from the environment (RECOLLECT_…) and a .env file."""
    settings = load_settings(host=host, port=port, data_dir=data_dir)
    if settings.data_dir.is_file():
        raise error_exit(f"RECOLLECT_DATA_DIR: {settings.data_dir} is a file, no folder.", ExitCode.USAGE)
    roles = _parse_roles(settings, only)
    log_format.configure_logging(settings.log_level, settings.log_format)
    if (unknown := describe_unknown_settings()) is not None:
        log.warning("%s", unknown)
    apply_process_tuning(settings)
    from api.uvicorn_server import open_listener
    from app.server_process import run_service

    try:
        listener = open_listener(settings.host, settings.port)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        remedy = (
            "Stop the program that listens there, or choose another port with RECOLLECT_PORT or --port."
            if taken
            else "See that RECOLLECT_HOST is an address of this machine, and that this user may open the port."
        )
        raise error_exit(f"Can't listen on {settings.host}:{settings.port}: {error.strerror}. {remedy}") from error
    try:
        with exit_on_startup_error():
            run_event_loop(settings, run_service(settings, listener, roles, say))
    except ExceptionGroup as errors:
        raise _exit_for_stage_fault(errors) from errors
    finally:
        listener.close()


@app.command(epilog=examples_epilog("recollect doctor", "recollect doctor --json"))
def doctor(
    *,
    data_dir: Annotated[Path | None, typer.Option(help="The directory of log and tables.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check Python, disk, memory, port, log, tables, models, Kafka, object store, secrets and clock.

    Prints each problem with its remedy. Exits with 1 if there is a problem; warnings don't count.
    """
    settings = load_settings(data_dir=data_dir)
    apply_process_tuning(settings)
    from app.cli.commands.doctor_command import run_diagnostics
    from connectors.accounts.credential_vault import CredentialCipher

    run_diagnostics(settings, CredentialCipher, as_json=as_json)


@app.command(epilog=examples_epilog("recollect topics", "recollect topics --check --json"))
def topics(
    *,
    check: Annotated[bool, typer.Option("--check", help="Create nothing; exit 1 on a difference.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Create missing Kafka topics, and list differences from the expected configuration."""
    settings = load_settings()
    if settings.kafka_bootstrap is None:
        say("RECOLLECT_KAFKA_BOOTSTRAP is not set: the embedded log creates its own topics.", err=as_json)
        if as_json:
            emit({"differences": []}, as_json=True)
        return
    from pipeline.bus.bus_factory import prepare_topics

    try:
        differences = asyncio.run(prepare_topics(settings, create=not check))
    except (OutageError, OSError) as error:
        raise error_exit(str(error), ExitCode.UNREACHABLE) from error
    text = "\n".join(differences) or "The topics are as they should be."
    emit({"differences": differences}, text, as_json=as_json)
    if differences and check:
        raise typer.Exit(ExitCode.FAILED)


def _exit_for_stage_fault(errors: ExceptionGroup[Exception]) -> Exception:
    """Return the exit for a failing stage; an unexpected error keeps its traceback."""
    fault: Exception | None = errors.subgroup(StageFaultError)
    if fault is None:
        return errors
    while isinstance(fault, ExceptionGroup):
        fault = fault.exceptions[0]
    return error_exit(f"The service has stopped. {fault}")


def _parse_roles(settings: Settings, only: str | None) -> frozenset[str]:
    """Return the roles of this process; typer.Exit for a combination that can't run."""
    roles = frozenset(ROLES if only is None else only.split(","))
    if unknown := roles - set(ROLES):
        raise error_exit(f"--only takes {', '.join(ROLES)}; not {', '.join(sorted(unknown))}.", ExitCode.USAGE)
    if settings.kafka_bootstrap is None and roles != set(ROLES):
        raise error_exit(
            "The embedded log belongs to one process, which has every role. Leave --only out,"
            " or set RECOLLECT_KAFKA_BOOTSTRAP to run the roles in separate processes.",
            ExitCode.USAGE,
        )
    return roles


_HELP_ORDER = (
    *(serve, demo_command.demo, doctor, topics, core_commands.add, core_commands.search),
    *(content_commands.get, content_commands.list_items, content_commands.profile, content_commands.namespaces),
    *(content_commands.forget, content_commands.delete, content_commands.erase),
    *(import_command.import_command, archive_commands.export, mcp_command.mcp),
    *(status_command.status, usage_command.usage, audit_command.audit, replay_command.replay),
)
app.registered_commands.sort(key=lambda command: _HELP_ORDER.index(command.callback))
