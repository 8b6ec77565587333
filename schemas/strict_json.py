"""Strict JSON of requests: UTF-8, no NaN, no repeated keys, bounded depth and number of values."""

import json
import re
from typing import Any, NoReturn

from schemas.limits import MAX_JSON_VALUES

_STRING = re.compile(rb'"[^"]*"')
_LONG_NUMBER = "Exceeds the limit"
"""How Python's message about an integer of more than 4,300 digits begins."""
_STRUCTURE = b',[{"'
_NOT_STRUCTURE = bytes(set(range(256)) - set(_STRUCTURE))


def parse_json(body: bytes) -> Any:
    """Parse a body; ValueError says in words for its sender what is wrong with it."""
    if _may_exceed(body, MAX_JSON_VALUES):
        raise ValueError(f"The body holds more than {MAX_JSON_VALUES:,} values: split it")
    try:
        return json.loads(body.decode("utf-8-sig"), parse_constant=_reject_constant, object_pairs_hook=_unique_keys)
    except UnicodeDecodeError as error:
        raise ValueError(f"The body is not UTF-8 (at byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"The body is not JSON: {error.msg} (at character {error.pos})") from None
    except RecursionError:
        raise ValueError("The body is not acceptable JSON: nested too deeply") from None
    except ValueError as error:
        reason = "a number has too many digits" if str(error).startswith(_LONG_NUMBER) else error
        raise ValueError(f"The body is not acceptable JSON: {reason}") from None


def _may_exceed(body: bytes, limit: int) -> bool:
    """Return whether a text has more values than `limit`, before the parser makes an object of each."""
    if sum(body.count(mark) for mark in (b",", b"[", b"{")) <= limit:
        return False
    # Marks inside strings don't count. Escapes go first, so that every quote left begins or ends a string.
    marks = body.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NOT_STRUCTURE)
    # Every string is a key or a value, so more of them exceed the limit too, without taking them out.
    return marks.count(b'"') > 4 * limit or len(_STRING.sub(b"", marks).replace(b'"', b"")) > limit


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # add returns None
        raise ValueError(f"the key {repeated[:80]!a} occurs twice in one object")
    return members


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
