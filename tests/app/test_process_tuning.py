"""A tuned process works as an untuned one does, and saves what it says."""

import subprocess
import sys

import pytest

TUNE = "from app.process_tuning import tune_process; tune_process(); "


def _python(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603 - this interpreter
    return done.stdout.strip()


@pytest.mark.parametrize("tune", ["", TUNE], ids=["untuned", "tuned"])
def test_lancedb_writes_and_reads_a_table(tune: str, tmp_path: object) -> None:
    program = (
        f"{tune}import lancedb, pyarrow as pa; "
        f"table = lancedb.connect({str(tmp_path)!r}).create_table('t', pa.table({{'a': [1, 2]}})); "
        "print(table.count_rows())"
    )
    assert _python(program) == "2"


def test_the_unused_client_is_a_stub_only_in_a_tuned_process() -> None:
    program = "import lance_namespace_urllib3_client as client; print(client.__file__ is not None)"
    assert _python(program) == "True"
    assert _python(f"{TUNE}import lance_namespace_urllib3_client as c; print(hasattr(c, '__file__'))") == "False"


def test_arrow_uses_the_pool_of_the_system_in_a_tuned_process() -> None:
    program = "import pyarrow as pa; print(pa.default_memory_pool().backend_name)"
    assert _python(TUNE + program) == "system"


def test_the_command_line_imports_no_library_before_the_process_is_tuned() -> None:
    libraries = ("aiokafka", "fastapi", "lancedb", "numpy", "onnxruntime", "pyarrow", "spacy")
    program = f"import sys, app.cli.main; print([name for name in {libraries} if name in sys.modules])"
    assert _python(program) == "[]"


def test_what_the_operator_has_set_stays() -> None:
    name = "os.environ['OPENBLAS_NUM_THREADS']"
    program = f"import os; {name} = '2'; {TUNE}print({name})"
    assert _python(program) == "2"
