"""The `recollect` command: the composition root of the service, and its command line."""

import asyncio
import ctypes
import gc
import os
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.commandline.configured import configured
from api.commandline.conventions import Ending, Json, examples, failure, show_json
from api.commands import app
from api.remote import Key, Url, local_address, local_key
from pipeline import logs
from pipeline.errors import DataDirectoryLockedError, OutageError, StageFaultError
from pipeline.settings import Settings

if TYPE_CHECKING:
    import socket

    from api.state import Serving

__all__ = ["app", "main"]

PARTS = ("api", "pipeline", "connectors")
SWITCH_SECONDS = 0.0005
DRAIN_SECONDS = 10.0
"""How long batches under way may take when the service ends."""
MALLOC_OPTIONS = ((-8, 2), (-3, 128 * 1024), (-1, 4 * 1024 * 1024))
"""M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of <malloc.h>."""
COLLECTION = (100_000, 20, 20)
"""Objects made before those without a name are looked for; Python's own is 700, 10, 10."""


@app.command(
    epilog=examples(
        "recollect serve",
        "recollect serve --port 0 --data-dir /srv/recollect",
        "recollect serve --only pipeline,connectors",
    )
)
def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 0 takes a free one.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where everything is kept.")] = None,
    only: Annotated[str | None, typer.Option(help="Some of: api,pipeline,connectors (with Kafka).")] = None,
) -> None:
    """Start the service. Settings come from the environment (RECOLLECT_…) and a .env file."""
    settings = configured(host=host, port=port, data_dir=data_dir)
    parts = _parts(settings, only)
    logs.configure(settings.log_level, settings.log_format)
    _tune_process()
    from api.server import listen  # frameworks cost seconds that `--help` need not wait for

    try:
        listener = listen(settings.host, settings.port)
    except OSError as error:
        raise failure(
            f"Can't listen on {settings.host}:{settings.port}: {error.strerror}. Stop what listens"
            " there, or choose another port with RECOLLECT_PORT or --port."
        ) from error
    try:
        with _told():
            _run(_serve(settings, listener, parts))
    except ExceptionGroup as errors:
        raise _stopped(errors) from errors
    finally:
        listener.close()


@app.command(epilog=examples("recollect doctor", "recollect doctor --json"))
def doctor(
    *,
    data_dir: Annotated[Path | None, typer.Option(help="Where everything is kept.")] = None,
    as_json: Json = False,
) -> None:
    """Look at Python, disk, memory, port, log, tables, models, Kafka, object store, secrets and clock.

    Says what is wrong and what to do about it. Exits with 1 where there is a problem; warnings are none.
    """
    from api.commandline.doctor import examine
    from connectors.vault import Vault

    examine(configured(data_dir=data_dir), Vault, as_json=as_json)


@app.command(epilog=examples("recollect topics", "recollect topics --check --json"))
def topics(
    *,
    check: Annotated[bool, typer.Option("--check", help="Create nothing; exit 1 on a difference.")] = False,
    as_json: Json = False,
) -> None:
    """Create Kafka's topics where they are missing, and say what about them is not as it should be."""
    settings = configured()
    if settings.kafka_bootstrap is None:
        typer.echo(
            "RECOLLECT_KAFKA_BOOTSTRAP is not set: the embedded log makes its topics by itself.", err=as_json
        )
        if as_json:
            show_json({"differences": []})
        return
    from pipeline.bus.opening import see_to_topics

    try:
        said = asyncio.run(see_to_topics(settings, settings.kafka_bootstrap, create=not check))
    except (OutageError, OSError) as error:
        raise failure(str(error), Ending.UNREACHABLE) from error
    if as_json:
        show_json({"differences": said})
    else:
        typer.echo("\n".join(said) or "The topics are as they should be.")
    if said and check:
        raise typer.Exit(Ending.FAILED)


@contextmanager
def _told() -> Iterator[None]:
    """What keeps the data from being opened or served, in words and as an exit code."""
    from pipeline.store import StoreMismatchError

    try:
        yield
    except (DataDirectoryLockedError, StoreMismatchError, ValueError) as error:
        raise failure(str(error)) from error
    except OutageError as error:
        raise failure(f"{error}\n`recollect doctor` tries every part.", Ending.UNREACHABLE) from error


def _stopped(errors: ExceptionGroup[Exception]) -> Exception:
    """What a stage that fails has to say; what nobody foresaw keeps its traceback."""
    fault: Exception | None = errors.subgroup(StageFaultError)
    if fault is None:
        return errors
    while isinstance(fault, ExceptionGroup):
        fault = fault.exceptions[0]
    return failure(f"The service has stopped. {fault}")


def _parts(settings: Settings, only: str | None) -> frozenset[str]:
    """The parts of the service that this process is."""
    parts = frozenset(PARTS if only is None else only.split(","))
    if unknown := parts - set(PARTS):
        raise failure(f"--only takes {', '.join(PARTS)}; not {', '.join(sorted(unknown))}.", Ending.USAGE)
    if settings.kafka_bootstrap is None and parts != set(PARTS):
        raise failure(
            "The embedded log belongs to one process, which is every part of the service. Leave --only out,"
            " or set RECOLLECT_KAFKA_BOOTSTRAP to run the parts apart."
        )
    return parts


def _tune_process() -> None:
    """For many small tasks in one process; call before libraries start threads.

    glibc keeps freed blocks in an arena per thread: with 100,000 chunks searched, 835 MB were resident, and
    450 with these options. What is free at the end is kept up to 4 MB: given back at once, a search takes 35
    pages anew. A publish crosses two threads: at the interpreter's 5 ms it waits for whoever computes, 26 ms
    against 0.8. Two BLAS threads take 8 ms for a scan that one does in 0.2. With Python's own thresholds the
    search for cycles took a third of a replay: many rows are at work, and none is in a cycle.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in MALLOC_OPTIONS:
            mallopt(option, value)
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*COLLECTION)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _run(main: Coroutine[Any, Any, None]) -> None:
    from pipeline.turns import new_loop

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main)


def _asyncapi() -> bytes:
    """As it was written for this version: making it anew needs FastStream, which takes seconds to import."""
    return (Path(__file__).parent / "docs" / "asyncapi.json").read_bytes()


async def _serve(settings: Settings, listener: "socket.socket", parts: frozenset[str]) -> None:
    """Open everything, then answer requests beside the pipeline; whichever ends takes the other along."""
    from api.app import create_app
    from api.gate import Bounds
    from api.guards import open_guards
    from api.server import address
    from api.server import serve as answer
    from api.service import first_key
    from composition import allowance_of, serving_of
    from connectors.service import open_connectors
    from pipeline.live import open_live
    from pipeline.replay.job import Replays
    from pipeline.turns import behind

    own_key = settings.admin_key.get_secret_value() if settings.admin_key else None
    reached_at = settings.public_url or address(listener, settings.host)
    working = "pipeline" in parts
    async with (
        open_live(settings, working=working) as live,
        open_guards(settings, live.foundation.bus, live.foundation.clock) as guards,
        open_connectors(live, reached_at, allowance_of(live, guards)) as connectors,
    ):
        replays = Replays(live)
        serving = await serving_of(live, replays, own_key, connectors.offers, guards)
        secret = await first_key(serving.state) if own_key is None and "api" in parts else None

        @asynccontextmanager
        async def opening() -> "AsyncIterator[Serving]":
            yield serving

        interface = "api" in parts
        announce = partial(_announce, settings, listener, secret, interface=interface)
        app = create_app(
            opening,
            connectors.routes,
            asyncapi=_asyncapi(),
            interface=interface,
            bounds=Bounds(
                concurrent=settings.concurrent_requests,
                behind=settings.behind_seconds,
                seconds=settings.request_seconds,
                body_bytes=settings.body_mb << 20,
            ),
            origins=settings.listed(settings.cors_origins),
            https=reached_at.startswith("https://"),
        )

        async def answering() -> None:
            await answer(
                app,
                listener,
                announce,
                level=settings.log_level,
                proxies=settings.listed(settings.trusted_proxies),
            )
            await live.drain(DRAIN_SECONDS)

        # What is there now stays: no later search for cycles has to go through it.
        gc.freeze()
        running = [live.run(), answering(), *([behind(connectors.run)] if "connectors" in parts else [])]
        try:
            await _either(*map(asyncio.create_task, running))
        finally:
            await replays.stop()


async def _either(*tasks: asyncio.Task[None]) -> None:
    """Wait for the first to end, end the others, and raise what went wrong."""
    done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in left:
        task.cancel()
    results = await asyncio.gather(*done, *left, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
            raise result


def _announce(settings: Settings, listener: "socket.socket", secret: str | None, *, interface: bool) -> None:
    from api.server import address

    local = address(listener, settings.host)
    if interface:
        # Where commands on this machine find the service.
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        (settings.data_dir / "address").write_text(f"{local}\n")
    reached_at = settings.public_url or local
    typer.echo(f"recollect answers at {reached_at}")
    if interface:
        typer.echo(f"Console: {reached_at}/console")
    if secret is not None:
        typer.echo(f"Admin key (shown only now): {secret}")


@app.command(
    epilog=examples(
        "recollect replay --dry-run",
        "recollect replay --embedder openai --embedder-base-url http://127.0.0.1:11434/v1",
        "recollect replay --chunk-size 1200 --json",
        "recollect replay --rollback",
    )
)
def replay(
    *,
    source: Annotated[
        str, typer.Option("--from", help="documents: all; memories: only these.")
    ] = "documents",
    stage: Annotated[str | None, typer.Option(help="embed: only the vectors.")] = None,
    embedder: Annotated[str | None, typer.Option(help="wordllama, openai or none.")] = None,
    embedder_model: Annotated[str | None, typer.Option(help="The model of an openai embedder.")] = None,
    embedder_dimensions: Annotated[int | None, typer.Option(min=1, max=8192, help="Of its vectors.")] = None,
    embedder_base_url: Annotated[str | None, typer.Option(help="Where an openai embedder answers.")] = None,
    chunk_size: Annotated[int | None, typer.Option(min=100, max=8000, help="Characters, at most.")] = None,
    shards: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Tables of chunks and of memories.")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where everything is, if no service runs.")] = None,
    force: Annotated[bool, typer.Option(help="Switch though the new tables hold something else.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Only say what it would do.")] = False,
    rollback: Annotated[bool, typer.Option(help="Serve the previous tables again.")] = False,
    clean_up: Annotated[bool, typer.Option(help="Remove the previous tables.")] = False,
    cancel: Annotated[bool, typer.Option(help="End the replay that runs.")] = False,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Make the tables again from the log, beside those that are served, and switch to them.

    A running service does it, and goes on answering; where none runs, this command does it itself.
    """
    from api import replaying

    asked = {
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
    body = {name: value for name, value in asked.items() if value is not None}
    settings = configured(data_dir=data_dir)
    address = url or replaying.answering(settings.data_dir)
    if address is not None:
        wish = replaying.wish(dry_run=dry_run, rollback=rollback, clean_up=clean_up, cancel=cancel)
        replaying.run(replaying.service(address, key), wish, body, as_json=as_json)
        return
    if cancel:
        raise failure("No service runs here, so no replay does.", Ending.UNREACHABLE)
    _tune_process()
    with _told():
        _run(
            _replay_alone(
                settings, body, dry_run=dry_run, rollback=rollback, clean_up=clean_up, as_json=as_json
            )
        )


async def _replay_alone(
    settings: Settings, body: dict[str, Any], *, dry_run: bool, rollback: bool, clean_up: bool, as_json: bool
) -> None:
    """The same where no service runs: this process opens the log."""
    from pydantic import ValidationError

    from api import replaying
    from api.queries.replay import ordered, planned, shown
    from pipeline.live import open_live
    from pipeline.replay.job import Replays
    from schemas.http.replay import ReplayBody

    try:
        order = ordered(ReplayBody.model_validate(body))
    except ValidationError as error:
        raise failure("; ".join(f"{one['loc'][0]}: {one['msg']}" for one in error.errors())) from error
    async with open_live(settings, working=False, serving=False) as live:
        replays = Replays(live)
        if dry_run:
            plan = planned(await replays.plan(order)).model_dump(by_alias=True, mode="json")
            replaying.show_plan(plan, as_json=as_json)
        elif clean_up:
            replaying.show_removed(await replays.clean_up(), as_json=as_json)
        else:
            running = asyncio.create_task(live.run())
            if rollback:
                replays.roll_back()
            else:
                replays.start(order)
            try:
                await replaying.watch(
                    lambda: shown(replays.progress).model_dump(by_alias=True, mode="json"), as_json=as_json
                )
            finally:
                await replays.stop()
                running.cancel()
                await asyncio.wait([running])


@app.command(epilog=examples("recollect demo"))
def demo(*, url: Url = None, key: Key = None) -> None:
    """Remember the descriptions of the installed packages, then ask five questions."""
    from rich.console import Console

    from bench import demo as demonstration

    demonstration.run(url or local_address(), key or local_key(), Console())


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
