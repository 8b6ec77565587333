"""A real S3-compatible object store (SeaweedFS) in a process of its own, for tests and measurements."""

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

from pipeline.store.objects import open_objects
from tests.patience import PATIENCE
from tools.leash import leash, unleash
from tools.ports import held_port

_KEY, _SECRET = "recollect", "recollect-secret"
_PARTS = ("master", "volume", "filer", "s3")


@dataclass(frozen=True, slots=True)
class S3:
    """A server with one bucket; every `uri` is a prefix nobody has used."""

    endpoint: str
    process: "subprocess.Popen[bytes]"
    _numbers: "count[int]"

    @property
    def options(self) -> dict[str, str]:
        """What LanceDB and obstore need to reach it."""
        return {
            "endpoint": self.endpoint,
            "region": "us-east-1",
            "access_key_id": _KEY,
            "secret_access_key": _SECRET,
            "allow_http": "true",
        }

    @property
    def environment(self) -> dict[str, str]:
        """The same as the usual variables, for a process that is told nothing else."""
        return {f"AWS_{name.upper()}": value for name, value in self.options.items()}

    def settings(self) -> dict[str, Any]:
        """A service's, for tables and blobs at prefixes of their own."""
        options = self.options
        return {
            "lance_uri": f"{self.uri()}/tables",
            "blob_uri": f"{self.uri()}/blobs",
            "storage_endpoint": options["endpoint"],
            "storage_region": options["region"],
            "storage_access_key_id": options["access_key_id"],
            "storage_secret_access_key": options["secret_access_key"],
        }

    def uri(self) -> str:
        """A prefix of its own."""
        return f"s3://recollect/{next(self._numbers)}"


@contextmanager
def served(folder: Path) -> Iterator[S3]:
    """The server over an empty folder, until the end of the block."""
    with ExitStack() as held:
        names = [*_PARTS, *(f"{part} grpc" for part in _PARTS)]
        yield from _served(folder, {name: held.enter_context(held_port()) for name in names})


def _served(folder: Path, ports: Mapping[str, int]) -> Iterator[S3]:
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
        process = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603 - our own command
    leashed = leash(process.pid)
    try:
        _make_bucket(f"http://127.0.0.1:{ports['filer']}/buckets/recollect/", process, folder / "log")
        s3 = S3(f"http://127.0.0.1:{ports['s3']}", process, count())
        _wait(s3.endpoint, process, folder / "log")
        _make_room(s3)
        yield s3
    finally:
        process.kill()
        process.wait()
        unleash(leashed)
        shutil.rmtree(folder, ignore_errors=True)


def _make_bucket(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    _wait(url, process, log, method="POST")


def _make_room(s3: S3) -> None:
    """It makes its first volumes when the first object comes, which on a busy machine takes many seconds."""
    obstore.put(open_objects(s3.uri(), s3.options, within=timedelta(seconds=PATIENCE)), "first", b"first")


def _wait(url: str, process: "subprocess.Popen[bytes]", log: Path, method: str = "GET") -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=5):  # noqa: S310 - loopback
                return
        except urllib.error.HTTPError as error:
            if error.code == 403:  # it is there, and wants a signature
                return
            reason: OSError = error
        except OSError as error:
            reason = error
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"The S3 server did not start ({reason}):\n{log.read_text()[-2000:]}")
        time.sleep(0.1)
