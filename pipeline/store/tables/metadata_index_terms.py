"""Index terms of metadata: exact tokens for equality, and one flat JSON object of strings for the rest.

Lower-casing and number ordering happen here when a row is written, so that LanceDB only compares bytes and
no two engines can differ.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b

from schemas.base import MetadataValue
from schemas.limits import FILTER_FIELD_PATTERN

_FIELD_PATTERN = re.compile(FILTER_FIELD_PATTERN)
_NINES_COMPLEMENT = str.maketrans("0123456789", "9876543210")
_MAX_INLINE_VALUE = 128
_EXPONENT_OFFSET = 50_000


def filter_tokens(metadata: Mapping[str, MetadataValue]) -> list[str]:
    """Build the tokens for equality and array membership. Keys that no filter can name have none."""
    return sorted({token for key, value in metadata.items() if _is_filterable(key) for token in _tokens_of(key, value)})


def filter_values(metadata: Mapping[str, MetadataValue]) -> dict[str, str]:
    """Build the values for substring and range filters.

    `s:key`: the text, `i:key`: its lower case if it differs, `n:key`: a number.
    """
    return {
        name: text for key, value in metadata.items() if _is_filterable(key) for name, text in _values_of(key, value)
    }


def filter_token(key: str, kind: str, value: str) -> str:
    """Build a token; `kind`: s text, i lower-case text, b boolean, n number, a array element.

    Long values are replaced by their hash.
    """
    if len(value) > _MAX_INLINE_VALUE:
        value = blake2b(value.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return f"{key}\x1f{kind}\x1f{value}"


def sortable_number(number: float) -> str:
    """Encode a number as text that sorts numerically, exact for integers and floats; NaN is empty."""
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
    magnitude = f"{_EXPONENT_OFFSET + len(digits) + exponent:05d}{digits.rstrip('0')}"
    return "n" + magnitude.translate(_NINES_COMPLEMENT) + "~" if number < 0 else "p" + magnitude


def _tokens_of(key: str, value: MetadataValue) -> Iterator[str]:
    match value:
        case bool():
            yield filter_token(key, "b", str(value))
        case str():
            yield filter_token(key, "s", value)
            yield filter_token(key, "i", value.lower())
        case int() | float():
            yield filter_token(key, "n", sortable_number(value))
        case list():
            yield from (filter_token(key, "a", element) for element in value)


def _values_of(key: str, value: MetadataValue) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield f"s:{key}", value
            if (lower := value.lower()) != value:
                yield f"i:{key}", lower
        case bool():
            return
        case int() | float() if number := sortable_number(value):
            yield f"n:{key}", number


@lru_cache(maxsize=4096)
def _is_filterable(key: str) -> bool:
    return _FIELD_PATTERN.fullmatch(key) is not None
