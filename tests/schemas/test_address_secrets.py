"""Secrets in addresses are told from ordinary parameters, and replaced."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.address_secrets import is_masked, mask_secrets, secret_values, with_secrets


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://e.test/a?token=t0p", "https://e.test/a?token=***"),
        ("https://e.test/a?x=1&API_Key=abc&y=2", "https://e.test/a?x=1&API_Key=***&y=2"),
        ("https://e.test/a?api%5Fkey=abc", "https://e.test/a?api%5Fkey=***"),
        ("https://e.test/#access_token=abc&expires_in=9", "https://e.test/#access_token=***&expires_in=9"),
        ("https://e.test/a;jwt=abc", "https://e.test/a;jwt=***"),
        ("https://user:pass@e.test/", "https://***@e.test/"),
        (
            "https://b.test/k?X-Amz-Date=2&X-Amz-Credential=AKIA%2F2&X-Amz-SignedHeaders=host&X-Amz-Signature=ab",
            "https://b.test/k?X-Amz-Date=2&X-Amz-Credential=***&X-Amz-SignedHeaders=host&X-Amz-Signature=***",
        ),
        ("https://a.test/b?sv=2021&se=2027&sig=q%3D", "https://a.test/b?sv=2021&se=2027&sig=***"),
        (
            "https://c.test/b?Expires=1&Signature=a~b&Key-Pair-Id=K",
            "https://c.test/b?Expires=1&Signature=***&Key-Pair-Id=***",
        ),
        ("https://g.test/?key=AIzaSyD1234567890abcdefghijk", "https://g.test/?key=***"),
        ("https://f.test/api?code=0123456789abcdef0123456789abcdef", "https://f.test/api?code=***"),
        ("It failed: https://e.test/?pwd=1 answered 500.", "It failed: https://e.test/?pwd=*** answered 500."),
    ],
)
def test_a_secret_is_not_shown(address: str, shown: str) -> None:
    assert mask_secrets(address) == shown
    assert mask_secrets(shown) == shown
    assert address.startswith("https://user") or is_masked(shown)
    assert with_secrets(shown, secret_values(address)) == address or "user:" in address


@pytest.mark.parametrize(
    "address",
    [
        "https://e.test/list?pageToken=abc&continuation_token=def",
        "https://e.test/search?q=password&tokens=5",
        "https://e.test/item?key=my-long-title-of-2024&code=42&s=2",
        "https://e.test/a@b?author=x",
        "Mail maya@e.test, because x=1.",
        "https://e.test/token/secret",
    ],
)
def test_what_is_no_secret_is_shown(address: str) -> None:
    assert mask_secrets(address) == address
    assert not is_masked(address)


@given(st.text(max_size=80))
def test_masking_again_changes_nothing(text: str) -> None:
    assert mask_secrets(mask_secrets(text)) == mask_secrets(text)
