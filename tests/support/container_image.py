"""The image of the Dockerfile, built with buildah on a base of Debian's packages, and run without a container engine.

No registry of images is asked. `unshare` and `chroot` give a process what an engine would: namespaces of its own, a
read-only root, the image's user and no capability.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BASE, IMAGE = "localhost/recollect-base", "localhost/recollect"
PACKAGES = "python3,python3-venv,ca-certificates"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
UNUSED = (
    "var/cache/apt/archives/*.deb",
    "var/lib/apt/lists/*",
    "usr/share/doc/*",
    "usr/share/man/*",
    "usr/share/locale/*",
)
RUN = """
root=$1 data=$2 certificates=$3; shift 3
mount --bind "$root" "$root"
mount --options remount,bind,ro "$root"
mount --types proc proc "$root/proc"
mount --types tmpfs tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
mount --bind "$data" "$root/data"
mount --bind "$certificates" "$root/etc/ssl/certs/ca-certificates.crt"
exec chroot "$root" setpriv --reuid "$IMAGE_USER" --regid "$IMAGE_USER" --clear-groups --no-new-privs \\
    --bounding-set=-all --inh-caps=-all "$@"
"""


@dataclass(frozen=True, slots=True)
class ContainerImage:
    """A built image: its files, its configuration and the size of its compressed layers."""

    root: Path
    config: dict[str, Any]
    compressed_bytes: int
    user: int

    def command(self, data: Path, *words: str, certificates: Path = CERTIFICATES) -> list[str]:
        """Return the command that runs words in the image, with `data` at /data."""
        unshare = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]
        return [*unshare, "sh", "-ec", RUN, "sh", str(self.root), str(data), str(certificates), *words]

    def environment(self, **settings: str) -> dict[str, str]:
        """Return the variables of the image, with settings in place of its own."""
        of_image = dict(variable.split("=", 1) for variable in self.config["Env"])
        return of_image | settings | {"IMAGE_USER": str(self.user), "HOME": "/home/recollect"}

    @property
    def health_check(self) -> list[str]:
        """The command that an engine runs in the container from time to time."""
        kind, *words = self.config["Healthcheck"]["Test"]
        assert kind == "CMD"
        return [str(word) for word in words]


@contextmanager
def built_image(folder: Path) -> Iterator[ContainerImage]:
    """Build the image; base and layers stay in the folder for the next time."""
    folder.mkdir(parents=True, exist_ok=True)
    if BASE not in _buildah(folder, "images", "--format", "{{.Name}}").split():
        _build_base(folder)
    _build(folder)
    archive = folder / "image.tar"
    archive.unlink(missing_ok=True)
    _buildah(folder, "push", "--quiet", IMAGE, f"oci-archive:{archive}")
    container = _buildah(folder, "from", "--pull-never", IMAGE)
    try:
        root = Path(_buildah(folder, "mount", container))
        config = json.loads(_buildah(folder, "inspect", IMAGE))["Docker"]["config"]
        entry = next(line for line in (root / "etc/passwd").read_text().splitlines() if line.startswith(config["User"]))
        yield ContainerImage(root, config, archive.stat().st_size, int(entry.split(":")[2]))
    finally:
        _buildah(folder, "rm", container)


def _build_base(folder: Path) -> None:
    """Make an image that has what python:3.11-slim has: Debian, Python and certificates."""
    files = folder / "base"
    _run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(files))
    for pattern in UNUSED:
        for path in files.glob(pattern):
            _run("rm", "-r", str(path))
    container = _buildah(folder, "from", "scratch")
    _buildah(folder, "add", "--quiet", container, str(files), "/")
    _buildah(folder, "commit", "--quiet", container, BASE)
    _buildah(folder, "rm", container)
    _run("rm", "-r", str(files))


def _build(folder: Path) -> None:
    cache = os.environ.get("UV_CACHE_DIR", str(Path.home() / ".cache" / "uv"))
    Path(cache).mkdir(parents=True, exist_ok=True)
    # What this machine trusts and has downloaded is mounted, not copied.
    mounts = (f"{CERTIFICATES}:{CERTIFICATES}:ro", f"{cache}:/root/.cache/uv")
    volumes = [word for mount in mounts for word in ("--volume", mount)]
    options = ["--isolation=chroot", "--network=host", "--pull-never", "--format=docker", f"--build-arg=BASE={BASE}"]
    _buildah(folder, "build", *options, *volumes, "--tag", IMAGE, str(ROOT))


def _buildah(folder: Path, *words: str) -> str:
    places = (f"--root={folder / 'storage'}", f"--runroot={folder / 'run'}", "--storage-driver=vfs")
    return _run("buildah", *places, *words)


def _run(*words: str) -> str:
    """Run a program of this machine and return its output; a failure shows the end of what it said."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - what is installed here
    assert done.returncode == 0, f"{words}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout.strip()
