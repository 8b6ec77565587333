"""`recollect replay`: tables rebuilt from the log, by the running service or by this command."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from app.cli.cli_settings import load_settings
from app.cli.conventions import ExitCode, JsonOption, emit, error_exit, examples_epilog
from app.cli.local_process import apply_process_tuning, exit_on_startup_error, run_event_loop
from app.cli.remote_service import JsonObject, Key, RemoteService, Url, is_healthy, resolve_key
from app.cli.replay_output import ReplayAction, emit_plan, emit_removed, watch_progress
from app.data_directories import read_address

EXAMPLES = examples_epilog(
    "recollect replay --dry-run",
    "recollect replay --embedder openai --embedder-base-url http://127.0.0.1:11434/v1",
    "recollect replay --chunk-size 1200 --json",
    "recollect replay --rollback",
)
REPLAY_PATH = "/admin/replay"


def replay(
    *,
    source: Annotated[str, typer.Option("--from", help="documents: rebuild all; memories: only these.")] = "documents",
    stage: Annotated[str | None, typer.Option(help="embed: rebuild only the vectors.")] = None,
    embedder: Annotated[str | None, typer.Option(help="e5-encoder, e5, wordllama, openai or none.")] = None,
    embedder_model: Annotated[str | None, typer.Option(help="The model of an openai embedder.")] = None,
    embedder_dimensions: Annotated[int | None, typer.Option(min=1, max=8192, help="The length of its vectors.")] = None,
    embedder_base_url: Annotated[str | None, typer.Option(help="The address of an openai embedder.")] = None,
    chunk_size: Annotated[int | None, typer.Option(min=100, max=8000, help="Maximum characters of a chunk.")] = None,
    shards: Annotated[
        int | None, typer.Option(min=1, max=1024, help="The number of tables of chunks and of memories.")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The directory of log and tables, if no service runs.")] = None,
    force: Annotated[bool, typer.Option(help="Switch even if the new tables hold something else.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Only print the plan.")] = False,
    rollback: Annotated[bool, typer.Option(help="Serve the previous tables again.")] = False,
    clean_up: Annotated[bool, typer.Option(help="Remove the previous tables.")] = False,
    cancel: Annotated[bool, typer.Option(help="End the running replay.")] = False,
    as_json: JsonOption = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Rebuild the tables from the log beside the served ones, and switch to them.

    A running service rebuilds them while it goes on answering; without one, this command does it.
    """
    options = {
        "from": source,
        "stage": stage,
        "embedder": embedder,
        "embedderModel": embedder_model,
        "embedderDimensions": embedder_dimensions,
        "embedderBaseUrl": embedder_base_url,
        "chunkSize": chunk_size,
        "shards": shards,
        "force": force,
    }
    body = {name: value for name, value in options.items() if value is not None}
    action = _parse_action({"plan": dry_run, "rollback": rollback, "clean-up": clean_up, "cancel": cancel})
    settings = load_settings(data_dir=data_dir)
    address = url or _running_service_address(settings.data_dir)
    if address is not None:
        _run_on_service(
            RemoteService.connect(address, resolve_key(key, settings, settings.data_dir)), action, body, as_json=as_json
        )
        return
    if action == "cancel":
        raise error_exit("No service runs on this data directory, so no replay does.", ExitCode.UNREACHABLE)
    apply_process_tuning(settings)
    from app.cli.offline_replay import replay_offline  # noqa: PLC0415 - needs frameworks that cost seconds

    with exit_on_startup_error():
        run_event_loop(settings, replay_offline(settings, action, body, as_json=as_json))


def _running_service_address(data_dir: Path) -> str | None:
    """Return the address of the service that runs on a data directory, if one does."""
    address = read_address(data_dir)
    return address if address and is_healthy(address) else None


def _parse_action(chosen: dict[ReplayAction, bool]) -> ReplayAction:
    """Return the chosen action; typer.Exit for more than one."""
    actions = [action for action, is_chosen in chosen.items() if is_chosen]
    if len(actions) > 1:
        raise error_exit("Give one of --dry-run, --rollback, --clean-up and --cancel.", ExitCode.USAGE)
    return actions[0] if actions else "replay"


def _run_on_service(remote: RemoteService, action: ReplayAction, body: JsonObject, *, as_json: bool) -> None:
    """Let a running service act, and watch it. Ctrl-C ends the watching, not the replay."""
    match action:
        case "plan":
            emit_plan(remote.request("POST", f"{REPLAY_PATH}/plan", json=body), as_json=as_json)
        case "clean-up":
            emit_removed(remote.request("POST", f"{REPLAY_PATH}/clean-up")["removed"], as_json=as_json)
        case "cancel":
            remote.request("DELETE", REPLAY_PATH)
            text = "No replay runs any more; the served tables are unchanged."
            emit(remote.request("GET", REPLAY_PATH), text, as_json=as_json)
        case "rollback":
            remote.request("POST", f"{REPLAY_PATH}/rollback")
            _watch_on_service(remote, as_json=as_json)
        case "replay":
            remote.request("POST", REPLAY_PATH, json=body)
            _watch_on_service(remote, as_json=as_json)


def _watch_on_service(remote: RemoteService, *, as_json: bool) -> None:
    try:
        asyncio.run(watch_progress(lambda: remote.request("GET", REPLAY_PATH), as_json=as_json))
    except KeyboardInterrupt:
        typer.echo("The replay goes on in the service; `recollect replay --cancel` ends it.", err=True)
        raise typer.Exit(ExitCode.INTERRUPTED) from None
