"""Secrets in addresses: parameters such as `token` or `X-Amz-Signature`, and what stands before an `@`.

Whoever has such an address may read what it leads to. Addresses are therefore stored, shown and logged with `***` in
place of the secret.
"""

import re
from collections.abc import Iterable
from urllib.parse import unquote

MASK = "***"
_PARAMETER = re.compile(r"(?<=[?&;#])([^=&#?;\s]+)=([^&#\s]+)")
_PARAMETER_IN_TEXT = re.compile(r"(?<=[?&;#])([^=&#?;\s]+)=([^&#\s()<>\"'\[\]]+)")
_LINK_TARGET = re.compile(r"(?<=\]\()[^()\s]+(?=\))")
_USER = re.compile(r"(?<=://)[^/?#@\s]*(?=@)")
_SECRET_NAME = re.compile(
    r".*(?:token|apikey|(?:access|auth|share|resource|private|secret|signing|subscription)key|secret|password|passwd"
    r"|passphrase|signature|credentials?|jwt)|(?:x?auth|authorization|awsaccesskeyid|bearer|hdnea|hdntl|hdnts|hmac"
    r"|keypairid|pass|pwd|sas|sig)"
)
_PAGING_TOKEN = re.compile(r".*(?:change|continuation|cursor|next|offset|page|prev|previous|scroll|start|sync)token")
"""Places in a list, which are no secrets, and without which all its pages would have one address."""
_MAYBE_SECRET_NAME = re.compile(r"code|k|key|policy|s|session|sid|st|ticket")
"""Names of secrets in some addresses, and of ordinary values in others, which look otherwise."""
_RANDOM = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[\w~.+/=%-]{16,}|[0-9a-fA-F]{32,}|[A-Za-z0-9_-]{40,}")


def mask_secrets(text: str) -> str:
    """Replace the secrets of an address, or of all addresses in a text, by `***`.

    >>> mask_secrets("https://ann@example.org/a?page=2&api_key=s3cret#token=x")
    'https://***@example.org/a?page=2&api_key=***#token=***'
    """
    if "=" not in text and "@" not in text:
        return text
    return _PARAMETER.sub(_masked, _USER.sub(MASK, text))


def mask_links(markdown: str, addresses: Iterable[str]) -> str:
    """Replace secrets in the targets of links, and in what is written of these addresses elsewhere in a text.

    Other addresses stay as they are: manuals explain what a token is by showing one.

    >>> mask_links("[a?sig=1](/a?sig=1), but ?sig=2", ["https://example.org/a?sig=1"])
    '[a?sig=***](/a?sig=***), but ?sig=2'
    """
    known = {pair for address in addresses for pair in secret_values(address).items()}
    text = _LINK_TARGET.sub(lambda target: mask_secrets(target[0]), markdown)
    if not known:
        return text
    return _PARAMETER_IN_TEXT.sub(
        lambda found: f"{found[1]}={MASK}" if (found[1], found[2]) in known else found[0], text
    )


def secret_values(url: str) -> dict[str, str]:
    """Return the secrets in an address by the names of their parameters, as they are written."""
    return {name: value for name, value in _PARAMETER.findall(url) if _is_secret(name, value)}


def with_secrets(masked: str, values: dict[str, str]) -> str:
    """Put secrets in place of `***`, where their parameter has the same name."""
    return _PARAMETER.sub(
        lambda found: f"{found[1]}={values.get(found[1], found[2])}" if found[2] == MASK else found[0], masked
    )


def is_masked(url: str) -> bool:
    """Tell whether a secret of an address is missing."""
    return any(value == MASK and _is_secret(name, value) for name, value in _PARAMETER.findall(url))


def _masked(found: re.Match[str]) -> str:
    return f"{found[1]}={MASK}" if _is_secret(found[1], found[2]) else found[0]


def _is_secret(name: str, value: str) -> bool:
    plain = re.sub(r"[^a-z0-9]", "", unquote(name).lower())
    if _SECRET_NAME.fullmatch(plain):
        return not _PAGING_TOKEN.fullmatch(plain)
    return _MAYBE_SECRET_NAME.fullmatch(plain) is not None and (value == MASK or _RANDOM.fullmatch(value) is not None)
