"""S3-compatible object store (SeaweedFS) in a child process, for tests and benchmarks."""

import json
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import obstore

from pipeline.store.blobs.object_store_client import open_object_store
from tools.parent_watchdog import start_watchdog, stop_watchdog
from tools.port_reservation import reserved_port

_KEY, _SECRET = "recollect", "recollect-secret"
_PARTS = ("master", "volume", "filer", "s3")
_START_TIMEOUT_SECONDS = 180.0
"""Generous, because a machine under load starts the server's four parts slowly."""


@dataclass(frozen=True, slots=True)
class S3Server:
    """A running server with one bucket."""

    endpoint: str
    process: "subprocess.Popen[bytes]"
    _prefix_numbers: "count[int]"

    @property
    def options(self) -> dict[str, str]:
        """Storage options for LanceDB and obstore."""
        return {
            "endpoint": self.endpoint,
            "region": "us-east-1",
            "access_key_id": _KEY,
            "secret_access_key": _SECRET,
            "allow_http": "true",
        }

    @property
    def environment_variables(self) -> dict[str, str]:
        """Storage options as AWS_ environment variables."""
        return {f"AWS_{name.upper()}": value for name, value in self.options.items()}

    def service_settings(self) -> dict[str, Any]:
        """Settings of a service with tables and blobs at unused prefixes."""
        options = self.options
        return {
            "lance_uri": f"{self.unused_uri()}/tables",
            "blob_uri": f"{self.unused_uri()}/blobs",
            "storage_endpoint": options["endpoint"],
            "storage_region": options["region"],
            "storage_access_key_id": options["access_key_id"],
            "storage_secret_access_key": options["secret_access_key"],
        }

    def unused_uri(self) -> str:
        """Return the URI of a prefix that was not returned before."""
        return f"s3://recollect/{next(self._prefix_numbers)}"


@contextmanager
def run_s3_server(folder: Path) -> Iterator[S3Server]:
    """Run the server over an empty folder until the end of the block; the folder is deleted."""
    with ExitStack() as stack:
        names = [*_PARTS, *(f"{part} grpc" for part in _PARTS)]
        yield from _run_server(folder, {name: stack.enter_context(reserved_port()) for name in names})


def _run_server(folder: Path, ports: Mapping[str, int]) -> Iterator[S3Server]:
    identity = {"name": "t", "credentials": [{"accessKey": _KEY, "secretKey": _SECRET}], "actions": ["Admin"]}
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    program = Path(sys.executable).with_name("weed")
    command = [
        str(program), "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-filer",
        f"-s3.config={folder / 's3.json'}", "-s3.port.iceberg=0", "-s3.port.lance=0", "-volume.max=20",
        "-master.volumeSizeLimitMB=64", "-master.telemetry=false",
        *(f"-{part}.port={ports[part]}" for part in _PARTS),
        *(f"-{part}.port.grpc={ports[f'{part} grpc']}" for part in _PARTS),
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    watchdog = start_watchdog(process.pid)
    try:
        bucket_url = f"http://127.0.0.1:{ports['filer']}/buckets/recollect/"
        _wait_until_reachable(bucket_url, process, folder / "log", method="POST")
        s3 = S3Server(f"http://127.0.0.1:{ports['s3']}", process, count())
        _wait_until_reachable(s3.endpoint, process, folder / "log")
        _create_first_volumes(s3)
        yield s3
    finally:
        process.kill()
        process.wait()
        stop_watchdog(watchdog)
        shutil.rmtree(folder, ignore_errors=True)


def _create_first_volumes(s3: S3Server) -> None:
    """Store an object: the server creates volumes on the first write, which may take many seconds."""
    obstore.put(
        open_object_store(s3.unused_uri(), s3.options, timeout=timedelta(seconds=_START_TIMEOUT_SECONDS)),
        "first",
        b"first",
    )


def _wait_until_reachable(url: str, process: "subprocess.Popen[bytes]", log: Path, method: str = "GET") -> None:
    deadline = time.monotonic() + _START_TIMEOUT_SECONDS
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=5):  # noqa: S310 - loopback
                return
        except urllib.error.HTTPError as error:
            if error.code == 403:  # the server runs and asks for a signature
                return
            reason: OSError = error
        except OSError as error:
            reason = error
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"The S3 server did not start ({reason}):\n{log.read_text()[-2000:]}")
        time.sleep(0.1)
