"""What the service still has to do, asked once for all histories that wait."""

import threading
import time

import httpx2

OK = 200
LOOK_SECONDS = 1.0
"""Time for which an answer is taken for the present."""


class ServiceProgress:
    """Tells for how long a service has had nothing to do: what is not processed then is stuck, and not merely late."""

    def __init__(self, url: str, client: httpx2.Client) -> None:
        self._url = url
        self._client = client
        self._lock = threading.Lock()
        self._asked_at = -LOOK_SECONDS
        self._idle_since = time.monotonic()
        self._lag: dict[str, int] | None = None

    def idle_seconds(self) -> float:
        """Return for how long every consumer group has handled every record; 0 while nobody answers."""
        with self._lock:
            self._ask()
            return time.monotonic() - self._idle_since

    def is_waiting(self, group: str, since: float) -> bool:
        """Tell whether a group has records to handle, or may have some, by an answer asked for after `since`."""
        with self._lock:
            self._ask(since)
            return not self._lag or bool(self._lag.get(group))

    def _ask(self, since: float = 0.0) -> None:
        began = time.monotonic()
        if self._asked_at >= since and began - self._asked_at < LOOK_SECONDS:
            return
        try:
            answer = self._client.get(f"{self._url}/admin/status")
            self._lag = answer.json().get("lag") if answer.status_code == OK else None
        except httpx2.TransportError:
            self._lag = None
        self._asked_at = began
        if not self._lag or any(self._lag.values()):
            self._idle_since = self._asked_at
