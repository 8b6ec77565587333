"""Wrapping keys that HashiCorp Vault encrypts, and what happens when it is away, refuses or answers nonsense."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.bus.sealing.key_file import KeyFile, SealingKeyError
from pipeline.bus.sealing.vault_transit import ATTEMPTS, VaultTransit
from pipeline.errors import OutageError
from tests.support.asgi_server import serve_app_in_thread
from tests.support.vault_double import TOKEN, VaultDouble


@pytest.fixture
def vault() -> VaultDouble:
    return VaultDouble()


@pytest.fixture
def address(vault: VaultDouble) -> Iterator[str]:
    with serve_app_in_thread(vault) as url:
        yield url


@pytest.fixture
def file(tmp_path: Path, address: str) -> Iterator[KeyFile]:
    opened = KeyFile(tmp_path / "sealing.key", _transit(address))
    yield opened
    opened.close()


def _transit(address: str, token: str = TOKEN, *, timeout_seconds: float = 30.0) -> VaultTransit:
    return VaultTransit(address, token, key="recollect", timeout_seconds=timeout_seconds, pause_seconds=0.0)


def test_the_file_holds_what_vault_encrypted_and_vault_gives_the_key_back(file: KeyFile, vault: VaultDouble) -> None:
    (key,) = file.read(create=True)
    assert file.path.read_text().startswith("vault:v1:")
    assert file.read() == [key]
    assert vault.operations == ["encrypt", "decrypt", "decrypt"]
    with pytest.raises(SealingKeyError, match="RECOLLECT_SEALING_VAULT_ADDRESS"):
        KeyFile(file.path).read()


def test_after_a_rewrap_old_copies_of_the_file_are_shut_and_the_key_is_the_same(
    file: KeyFile, vault: VaultDouble
) -> None:
    keys = file.read(create=True)
    old = file.path.read_text()
    vault.rotate()
    assert file.rewrap() == 1
    assert file.path.read_text().startswith("vault:v2:")
    vault.min_decryption_version = 2
    assert file.read() == keys
    file.path.write_text(old)
    with pytest.raises(SealingKeyError, match="too old"):
        file.read()


def test_a_key_that_is_in_the_file_as_it_is_stays_readable_and_the_next_one_is_encrypted(file: KeyFile) -> None:
    plain = KeyFile(file.path).read(create=True)
    assert file.read() == plain
    file.write([bytes(32), *plain])
    assert file.path.read_text().count("vault:v1:") == 2
    assert file.read() == [bytes(32), *plain]
    with pytest.raises(SealingKeyError, match="No key management service"):
        KeyFile(file.path).rewrap()


@pytest.mark.parametrize("trouble", [500, 502, 503, 429])
def test_a_failure_that_passes_is_asked_again(file: KeyFile, vault: VaultDouble, trouble: int) -> None:
    keys = file.read(create=True)
    vault.trouble = [trouble] * (ATTEMPTS - 1)
    assert file.read() == keys
    vault.trouble = [trouble] * ATTEMPTS
    with pytest.raises(OutageError, match=f"{trouble} Vault is sealed"):
        file.read()


def test_a_vault_that_does_not_answer_or_is_away_is_an_outage(file: KeyFile, vault: VaultDouble, address: str) -> None:
    file.read(create=True)
    vault.trouble = ["hang"] * ATTEMPTS
    for at in (address, "http://127.0.0.1:9", "no address"):
        with (
            closing(KeyFile(file.path, _transit(at, timeout_seconds=0.05))) as other,
            pytest.raises(OutageError, match="does not decrypt"),
        ):
            other.read()


def test_a_refusal_is_not_asked_again_and_tells_no_secret(file: KeyFile, vault: VaultDouble, address: str) -> None:
    file.read(create=True)
    asked = len(vault.operations)
    with (
        closing(KeyFile(file.path, _transit(address, "hvs.wrong"))) as other,
        pytest.raises(SealingKeyError, match="permission denied") as refused,
    ):
        other.read()
    assert "hvs." not in str(refused.value)
    vault.trouble = [307, 404]
    for _ in range(2):
        with pytest.raises(SealingKeyError, match="refuses"):
            file.read()
    assert len(vault.operations) == asked


_KEYLESS = (b'{"plaintext": 7}', b'{"plaintext": "\xc3\xa9"}', b'{"plaintext": "c2hvcnQ="}')


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", *(b'{"data": %b}' % data for data in (b"null", b"7", *_KEYLESS))],
)
def test_an_answer_that_holds_no_key_is_refused(file: KeyFile, vault: VaultDouble, body: bytes) -> None:
    file.read(create=True)
    before = file.path.read_text()
    vault.trouble = [body, body]
    with pytest.raises(SealingKeyError):
        file.read()
    with pytest.raises(SealingKeyError):
        file.rewrap()
    assert file.path.read_text() == before
