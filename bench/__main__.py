"""`python -m bench`: the service and plain LanceDB on the same texts, as a Markdown table."""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import connector_throughput, plain_lancedb, processes
from bench.load import Figures, Sizes, measure
from bench.result_tables import machine_description, readme_table, replace_section, table
from bench.service_process import Server
from bench.text_generator import TextGenerator

ROOT = Path(__file__).parent.parent
PAGE, README = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"


def main() -> None:
    """Measure and print; with --write also into docs/benchmarks.md and the README."""
    options = _options()
    if options.connectors:
        connector_throughput.run(quick=options.quick)
        return
    if options.processes:
        processes.run(600 if options.quick else processes.DOCUMENTS)
        return
    sizes = Sizes.quick() if options.quick else Sizes()
    note = _describe_run(sizes)
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        ours = _service(Path(folder) / "data", sizes)
        plain = {} if options.alone else _plain(Path(folder) / "lance", sizes)
    result = table(ours, plain, note)
    print(result)
    if options.write:
        replace_section(PAGE, result)
        replace_section(README, readme_table(ours, plain))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size")
    parser.add_argument("--alone", action="store_true", help="without plain LanceDB")
    parser.add_argument("--write", action="store_true", help="put it into docs/benchmarks.md and the README")
    parser.add_argument("--connectors", action="store_true", help="only how fast a connector runs")
    parser.add_argument("--processes", action="store_true", help="only ingest and replay, in one process and on Kafka")
    return parser.parse_args()


def _describe_run(sizes: Sizes) -> str:
    total = sizes.namespaces * sizes.chunks
    return f"{sizes.namespaces} namespaces of {sizes.chunks:,} chunks each ({total:,} in all); {machine_description()}."


def _service(data: Path, sizes: Sizes) -> Figures:
    # Memories are formed soon after each part, so that a part never runs beside the work of the one before.
    with Server(data, {"RECOLLECT_DREAMING_DEBOUNCE_SECONDS": "1"}) as server:
        return asyncio.run(measure(server, TextGenerator(), sizes, _log))


def _plain(folder: Path, sizes: Sizes) -> Figures:
    _log("plain LanceDB")
    folder.mkdir()
    command = plain_lancedb.arguments(folder, sizes)
    # LanceDB warns about a default of its next version with every query.
    quiet = {**os.environ, "LANCEDB_LOG": "error"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=quiet)  # noqa: S603 - our own module
    figures: Figures = json.loads(done.stdout)
    return figures


def _log(what: str) -> None:
    print(f"… {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
