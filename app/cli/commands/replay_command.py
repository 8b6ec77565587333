"""`recollect replay`: tables rebuilt from the log, by the running service or by this command."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import ValidationError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from app.cli.cli_settings import load_settings
from app.cli.conventions import ExitCode, Terminal, emit, error_exit, say
from app.cli.local_process import apply_process_tuning, exit_on_startup_error, run_event_loop
from app.cli.remote_service import RemoteService, is_healthy, resolve_key
from app.cli.service_command import ServiceCall, app
from app.data_directories import read_address
from pipeline.settings import Settings
from schemas.base import JsonObject, without_none
from schemas.http.extensions.replay_bodies import ReplayBody, ReplayProgressResponse

ReplayAction = Literal["replay", "plan", "rollback", "clean-up", "cancel"]
POLL_INTERVAL_SECONDS = 0.5
REPLAY_PATH = "/admin/replay"


async def watch_progress(get_progress: Callable[[], JsonObject], *, as_json: bool = False) -> None:
    """Show a progress bar until the replay ends; typer.Exit unless it ended well."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("records, {task.fields[rate]:,.0f}/s"),
        TimeRemainingColumn(),
    )
    began = time.monotonic()
    with Progress(*columns, console=Terminal(stderr=True)) as bars:
        bar = bars.add_task("Reading the log", total=None, rate=0.0)
        while (progress := get_progress())["state"] == "running":
            bars.update(
                bar,
                description=progress["step"] or "Reading the log",
                total=progress["total"] or None,
                completed=progress["read"],
                rate=progress["read"] / max(time.monotonic() - began, 0.001),
            )
            await asyncio.sleep(POLL_INTERVAL_SECONDS)
    for difference in progress["differences"]:
        say(f"differs from before: {difference}", err=True)
    served = f"Generation {progress['generation']} is served, after {progress['read']:,} records of the log."
    done = progress["state"] == "done"
    emit(progress, *([served] if done else []), as_json=as_json)
    if not done:
        reason = (progress["error"] or "it was cancelled").rstrip(".")
        raise error_exit(f"The replay {progress['state']}: {reason}. The served tables are unchanged.")


def emit_plan(plan: JsonObject, *, as_json: bool) -> None:
    """Print what a replay would read and write."""
    table = Table(show_header=False, box=None)
    previous = "" if plan["previous"] is None else f" (a rollback would go to {plan['previous']})"
    table.add_row("served now", f"generation {plan['current']}{previous}")
    config = plan["indexConfig"]
    chunks = f"chunks of {config['chunkSize']} characters"
    table.add_row("built with", f"{config['embedder']}, {chunks}, {config['shards']} shards")
    for topic, count in plan["records"].items():
        table.add_row(f"read from {topic}", f"{count:,} records at most")
    for kind in ("documents", "chunks", "memories"):
        table.add_row(f"write {kind}", f"about {plan[kind]:,}")
    table.add_row("disk", f"about {plan['bytes'] / 1e6:,.0f} MB more, until the next replay or --clean-up")
    emit(plan, table, as_json=as_json)


def emit_removed(removed: list[int], *, as_json: bool) -> None:
    """Print the numbers of the removed generations."""
    names = ", ".join(map(str, removed))
    text = f"Removed generation {names}." if removed else "There was nothing to remove."
    emit({"removed": removed}, text, as_json=as_json)


@app.asks(
    "recollect replay --dry-run",
    "recollect replay --embedder openai --embedder-base-url http://127.0.0.1:11434/v1",
    "recollect replay --chunk-size 1200 --json",
    "recollect replay --rollback",
)
def replay(
    call: ServiceCall,
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
) -> None:
    """Rebuild the tables from the log beside the served ones, and switch to them.

    A running service rebuilds them while it goes on answering; without one, this command does it.
    """
    body = {"from": source, "force": force} | without_none(
        stage=stage,
        embedder=embedder,
        embedderModel=embedder_model,
        embedderDimensions=embedder_dimensions,
        embedderBaseUrl=embedder_base_url,
        chunkSize=chunk_size,
        shards=shards,
    )
    action = _parse_action({"plan": dry_run, "rollback": rollback, "clean-up": clean_up, "cancel": cancel})
    settings = load_settings(data_dir=data_dir)
    address = call.url or _running_service_address(settings.data_dir)
    if address is not None:
        _run_on_service(
            RemoteService.connect(address, resolve_key(call.key, settings, settings.data_dir)),
            action,
            body,
            as_json=call.as_json,
        )
        return
    if action == "cancel":
        raise error_exit("No service runs on this data directory, so no replay does.", ExitCode.UNREACHABLE)
    apply_process_tuning(settings)
    with exit_on_startup_error():
        run_event_loop(settings, replay_offline(settings, action, body, as_json=call.as_json))


def _running_service_address(data_dir: Path) -> str | None:
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
        say("The replay goes on in the service; `recollect replay --cancel` ends it.", err=True)
        raise typer.Exit(ExitCode.INTERRUPTED) from None


async def replay_offline(settings: Settings, action: ReplayAction, body: JsonObject, *, as_json: bool) -> None:
    """Carry out an action of `recollect replay` in this process; there is nothing to cancel here."""
    from app.pipeline_supervisor import open_supervisor  # noqa: PLC0415 - imports frameworks: after tuning
    from app.replay.replay_service import ReplayService  # noqa: PLC0415 - the same
    from pipeline.store.generations.replay_request import ReplayRequest  # noqa: PLC0415 - the same

    def progress() -> JsonObject:
        return ReplayProgressResponse.model_validate(replays.progress).model_dump(by_alias=True, mode="json")

    try:
        request = ReplayRequest(**dict(ReplayBody.model_validate(body)))
    except ValidationError as error:
        raise error_exit("; ".join(f"{issue['loc'][0]}: {issue['msg']}" for issue in error.errors())) from error
    async with open_supervisor(settings, runs_stages=False, serves_requests=False) as supervisor:
        replays = ReplayService(supervisor)
        if action == "plan":
            plan = (await replays.plan(request)).model_dump(by_alias=True, mode="json")
            emit_plan(plan, as_json=as_json)
        elif action == "clean-up":
            emit_removed(await replays.clean_up(), as_json=as_json)
        else:
            running = asyncio.create_task(supervisor.run())
            if action == "rollback":
                replays.roll_back()
            else:
                replays.start(request)
            try:
                await watch_progress(progress, as_json=as_json)
            finally:
                await replays.stop()
                running.cancel()
                await asyncio.wait([running])
