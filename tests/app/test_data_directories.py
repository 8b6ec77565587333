"""What a data directory tells commands, and what it can't make them do."""

from pathlib import Path

import pytest

from app.data_directories import read_address, write_address


@pytest.mark.parametrize("address", ["http://127.0.0.1:8787", "http://localhost:8787"])
def test_the_address_of_a_service_on_this_machine_is_found(address: str, tmp_path: Path) -> None:
    write_address(tmp_path, address)
    assert read_address(tmp_path) == address


@pytest.mark.parametrize(
    "address",
    [
        "http://203.0.113.9",
        "https://recollect.invalid",
        "http://127.0.0.1@203.0.113.9",
        "http://[",
        "203.0.113.9:80",
        "",
    ],
)
def test_a_folder_sends_no_key_to_another_machine(address: str, tmp_path: Path) -> None:
    write_address(tmp_path, address)
    assert read_address(tmp_path) is None


def test_a_folder_without_a_service_has_no_address(tmp_path: Path) -> None:
    assert read_address(tmp_path / "none") is None
