"""Metadata as LanceDB can search it: exact tokens for equality, one flat object of strings for the rest.

Everything that two engines could see differently is settled here, in Python and when a row is written:
lower case, and the order of numbers. LanceDB only compares bytes.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b

from schemas.base import MetadataValue
from schemas.limits import FILTER_FIELD_PATTERN

_FIELD = re.compile(FILTER_FIELD_PATTERN)
_NINES = str.maketrans("0123456789", "9876543210")
_LONG = 128
_POINT = 50_000


def tokens(metadata: Mapping[str, MetadataValue]) -> list[str]:
    """What equality and array membership look up. Keys that no filter can name have none."""
    return sorted({one for key, value in metadata.items() if _nameable(key) for one in _tokens(key, value)})


def facts(metadata: Mapping[str, MetadataValue]) -> dict[str, str]:
    """What substrings and ranges look at: `s:key` text, `i:key` lower case if other, `n:key` number."""
    return {
        name: text for key, value in metadata.items() if _nameable(key) for name, text in _facts(key, value)
    }


def token(key: str, kind: str, value: str) -> str:
    """s text, i lower-case text, b boolean, n number, a array element; long values by their hash."""
    if len(value) > _LONG:
        value = blake2b(value.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return f"{key}\x1f{kind}\x1f{value}"


def ordered(number: float) -> str:
    """A number as text that sorts as numbers do, exactly, integers and floats alike; NaN is empty."""
    if not number:
        return "o"
    if isinstance(number, int):
        digits, exponent = str(abs(number)), 0
    else:
        value = Decimal(number)  # exact
        if not value.is_finite():
            return "" if value.is_nan() else "q" if value > 0 else "m"
        _, figures, power = value.as_tuple()
        digits, exponent = "".join(map(str, figures)), int(power)
    magnitude = f"{_POINT + len(digits) + exponent:05d}{digits.rstrip('0')}"
    return "n" + magnitude.translate(_NINES) + "~" if number < 0 else "p" + magnitude


def _tokens(key: str, value: MetadataValue) -> Iterator[str]:
    match value:
        case bool():
            yield token(key, "b", str(value))
        case str():
            yield token(key, "s", value)
            yield token(key, "i", value.lower())
        case int() | float():
            yield token(key, "n", ordered(value))
        case list():
            yield from (token(key, "a", element) for element in value)


def _facts(key: str, value: MetadataValue) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield f"s:{key}", value
            if (lower := value.lower()) != value:
                yield f"i:{key}", lower
        case bool():
            return
        case int() | float() if number := ordered(value):
            yield f"n:{key}", number


@lru_cache(maxsize=4096)
def _nameable(key: str) -> bool:
    return _FIELD.fullmatch(key) is not None
