"""Hostile mode of a double: errors for single items, and answers with fields that are missing, null or unknown."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.support.providers.provider_double import DoubleResponse, ReceivedRequest

STATUSES = (400, 403, 405, 409, 410, 413, 418, 500, 502, 503, 504)
"""Errors of one item; 401 and 429 concern the account and end a run, and 404 says that an item is gone."""
IDENTITY = frozenset({"id", "fileId", "results", "value", "files", "changes", "drives", "has_more", "next_cursor"})
"""Fields without which nobody could say which item an answer is about, or whether there are more."""
CURSORS = frozenset({"nextPageToken", "newStartPageToken", "startPageToken", "@odata.nextLink", "@odata.deltaLink"})


@dataclass(frozen=True)
class HostileMode:
    """Decides by seed, so that the same request always gets the same answer.

    `error_rate`: share of items whose requests fail. `field_rate`: share of fields that are spoiled.
    `refusal`: an error as the provider words it. `spared`: parts of paths that always work.
    """

    seed: int
    error_rate: float
    field_rate: float
    refusal: Callable[[int], DoubleResponse]
    spared: tuple[str, ...] = ()
    protected: frozenset[str] = field(default=IDENTITY | CURSORS)

    def spoil(self, call: ReceivedRequest, answer: DoubleResponse) -> DoubleResponse:
        """Return the answer that is sent in place of the true one."""
        if answer.status >= 400 or any(part in call.path for part in self.spared):
            return answer
        random = Random(f"{self.seed} {call.path}")  # noqa: S311 - repeatable
        if call.path_parameters and random.random() < self.error_rate:
            return self.refusal(random.choice(STATUSES))
        if not isinstance(answer.body, dict):
            return answer
        return replace(answer, body=self._spoiled(answer.body, random, depth=0))

    def _spoiled(self, value: Any, random: Random, depth: int) -> Any:
        if isinstance(value, list):
            return [self._spoiled(item, random, depth + 1) for item in value]
        if not isinstance(value, dict):
            return value
        names = list(value)
        random.shuffle(names)
        fields = {name: self._spoiled(value[name], random, depth + 1) for name in names}
        for name in names:
            if name not in self.protected and random.random() < self.field_rate:
                if random.random() < 0.5:
                    fields[name] = None
                else:
                    del fields[name]
        return {**fields, "a_field_of_next_year": {"type": "unheard_of"}}
