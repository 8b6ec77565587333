"""Documents to a service: batches per namespace, each recorded once it is acknowledged."""

from collections import defaultdict
from urllib.parse import quote

from api.mcp.service_client import error_message
from app.cli.importing.import_report import ImportReport
from app.cli.importing.sent_items import SentItems, item_key
from app.cli.remote_service import RemoteService
from app.importers.imported_item import ImportedItem, LeftOut
from schemas.base import JsonObject

BATCH_DOCUMENTS = 200
BATCH_CHARS = 1_000_000
_BUFFERED_DOCUMENTS = 1_000
_BAD_REQUEST, _NOT_FOUND, _TOO_LARGE, _UNPROCESSABLE = 400, 404, 413, 422
_REFUSALS = frozenset({_BAD_REQUEST, _TOO_LARGE, _UNPROCESSABLE})


class DocumentUpload:
    """Sends documents that the service does not have yet; raises typer.Exit when it stops answering."""

    def __init__(self, service: RemoteService, sent: SentItems, report: ImportReport, *, again: bool = False) -> None:
        self._service = service
        self._sent = sent
        self._report = report
        self._again = again
        self._seen: set[bytes] = set()
        self._waiting: defaultdict[str, list[ImportedItem]] = defaultdict(list)
        self._chars: defaultdict[str, int] = defaultdict(int)

    def add(self, namespace: str, item: ImportedItem) -> None:
        """Send a document with others, soon; what was sent before is only counted."""
        key = item_key(namespace, item.id)
        if key in self._seen:
            self._report.leave_out(LeftOut(item.id, "another item of the source has the same id"))
            return
        self._seen.add(key)
        state = "new" if self._again else self._sent.state(self._service.address, namespace, item)
        if state == "sent":
            self._report.unchanged += 1
        elif state == "new" or not self._replace(namespace, item):
            self._enqueue(namespace, item)

    def flush(self) -> None:
        for namespace in list(self._waiting):
            self._send(namespace)

    def _enqueue(self, namespace: str, item: ImportedItem) -> None:
        batch = self._waiting[namespace]
        if batch and self._chars[namespace] + len(item.content) > BATCH_CHARS:
            self._send(namespace)
            batch = self._waiting[namespace]
        batch.append(item)
        self._chars[namespace] += len(item.content)
        if len(batch) >= BATCH_DOCUMENTS:
            self._send(namespace)
        elif len(self._waiting) > 1 and sum(map(len, self._waiting.values())) >= _BUFFERED_DOCUMENTS:
            self.flush()

    def _send(self, namespace: str) -> None:
        batch = self._waiting.pop(namespace, [])
        self._chars.pop(namespace, None)
        if batch:
            self._send_batch(namespace, batch)

    def _send_batch(self, namespace: str, batch: list[ImportedItem]) -> None:
        body = {"documents": [_document(item) for item in batch]}
        response = self._service.send(f"POST /ns/{namespace}/document/batch", body, tolerated=_REFUSALS)
        if response.is_success:
            self._record(namespace, batch, response.json()["results"])
        elif len(batch) > 1:
            # A document that the service can't take must not keep the others out.
            half = len(batch) // 2
            self._send_batch(namespace, batch[:half])
            self._send_batch(namespace, batch[half:])
        else:
            self._report.leave_out(LeftOut(batch[0].id, f"the service refused it: {error_message(response)}"))

    def _record(self, namespace: str, batch: list[ImportedItem], results: list[JsonObject]) -> None:
        accepted = []
        for item, result in zip(batch, results, strict=True):
            if error := result.get("error"):
                details = result.get("details") or error
                self._report.leave_out(LeftOut(item.id, f"the service refused it: {details}"))
            else:
                accepted.append(item)
        self._sent.add(self._service.address, namespace, accepted)
        self._report.imported += len(accepted)
        self._report.namespaces[namespace] += len(accepted)

    def _replace(self, namespace: str, item: ImportedItem) -> bool:
        """Replace the text of a document that changed in its source; False if it is gone."""
        path = f"PATCH /ns/{namespace}/document/{quote(item.id, safe='')}"
        body = {name: value for name, value in _document(item).items() if name != "id"}
        response = self._service.send(path, body, tolerated=_REFUSALS | {_NOT_FOUND})
        if response.status_code == _NOT_FOUND:
            return False
        if response.is_success:
            self._sent.add(self._service.address, namespace, [item])
            self._report.updated += 1
        else:
            self._report.leave_out(LeftOut(item.id, f"the service refused it: {error_message(response)}"))
        return True


def _document(item: ImportedItem) -> JsonObject:
    document: JsonObject = {"id": item.id, "content": item.content, "metadata": item.metadata}
    return document if item.date is None else document | {"date": item.date}
