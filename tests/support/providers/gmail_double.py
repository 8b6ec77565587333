"""Gmail: one mailbox with labels, threads, a history that is kept for a while, and pushes through Pub/Sub.

python -m tests.support.providers.gmail_double --port 0
"""

import base64
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from itertools import count
from typing import Any

from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.requests import Request

from tests.support.providers.api_description import DescriptionViolationError
from tests.support.providers.google_double import GoogleDouble, error_response
from tests.support.providers.provider_double import DoubleResponse, ReceivedRequest, serve_double

Message = dict[str, Any]
TOPIC = "projects/recollect/topics/mail"
AUDIENCE = "https://recollect.example.test/webhooks/gmail"
PUSHER = "pusher@recollect.iam.gserviceaccount.com"
_SYSTEM = ("INBOX", "SENT", "TRASH", "SPAM", "UNREAD", "CATEGORY_PROMOTIONS")
MAX_INLINE_BODY_BYTES = 100_000
"""Texts above this many bytes have to be fetched like attachments."""


@dataclass(frozen=True)
class AttachedFile:
    """A file to send along."""

    name: str
    media: str
    content: bytes


class GmailDouble(GoogleDouble):
    """The world: messages by id, and what happened to them, by number."""

    def __init__(self) -> None:
        super().__init__("gmail")
        self.address = "https://gmail.googleapis.com"
        self.messages: dict[str, Message] = {}
        self.threads: dict[str, list[str]] = {}
        self.files: dict[tuple[str, str], bytes] = {}
        self.attachments_by_id: dict[str, bytes] = {}
        self.history: list[dict[str, Any]] = []
        self.thread_history_ids: dict[str, int] = {}
        self.oldest_history_id = 0
        self.watches: list[Message] = []
        self.labels = dict.fromkeys(_SYSTEM, "system")
        self.names: dict[str, str] = {}
        self._numbers = count(1000)

    @cached_property
    def key(self) -> RSAKey:
        """Signing key of pushes."""
        return RSAKey.generate_key(2048, {"kid": "key-1", "use": "sig", "alg": "RS256"})

    # What a person does in Gmail.

    def label(self, name: str) -> str:
        """A new label."""
        id_ = f"Label_{next(self._numbers)}"
        self.labels[id_], self.names[id_] = "user", name
        return id_

    def deliver(
        self,
        subject: str,
        plain: str | None = "text",
        *,
        html: str | None = None,
        thread: str | None = None,
        labels: Iterable[str] = ("INBOX",),
        sender: str = "Ada <ada@example.test>",
        attached: Iterable[AttachedFile] = (),
        charset: str = "utf-8",
    ) -> tuple[str, str]:
        """A message; the ids of its thread and of itself."""
        id_ = f"{next(self._numbers):016x}"
        texts = [(media, text) for media, text in (("text/plain", plain), ("text/html", html)) if text is not None]
        parts = [self._text(f"0.{n}", media, text, charset) for n, (media, text) in enumerate(texts)]
        body = parts[0] if len(parts) == 1 else _part("0", "multipart/alternative", parts=parts)
        files = [self._file(id_, f"{n}", each) for n, each in enumerate(attached, 1)]
        payload = _part("", "multipart/mixed", parts=[body, *files]) if files else body
        now = self.advance_clock(timedelta(minutes=1))
        headers = {"From": sender, "To": "Grace <grace@example.test>", "Subject": subject}
        payload["headers"] = [{"name": name, "value": value} for name, value in headers.items()] + payload["headers"]
        self.messages[id_] = {
            "id": id_,
            "threadId": thread or id_,
            "labelIds": [*labels],
            "internalDate": str(int(now.timestamp() * 1000)),
            "payload": payload,
        }
        self.threads.setdefault(thread or id_, []).append(id_)
        self._record(id_, "messagesAdded")
        return thread or id_, id_

    def relabel(self, id_: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Add and remove labels; moving to the bin is adding TRASH."""
        labels = self.messages[id_]["labelIds"]
        for kind, names in (("labelsAdded", [*add]), ("labelsRemoved", [*remove])):
            if names:
                labels = [*labels, *names] if kind == "labelsAdded" else [x for x in labels if x not in names]
                self.messages[id_]["labelIds"] = labels
                self._record(id_, kind, labelIds=names)

    def purge(self, id_: str) -> None:
        """Delete for good."""
        self._record(id_, "messagesDeleted")
        del self.messages[id_]

    def expire_history(self) -> None:
        """The history up to now is not kept any longer."""
        self.oldest_history_id = next(self._numbers)

    def push(self, *, address: str = "ada@example.test", kid: str = "key-1", **claims: Any) -> tuple[str, bytes]:
        """A push of Pub/Sub: the header Authorization and the body."""
        now = int(self.now.timestamp())
        message = {
            "iss": "https://accounts.google.com",
            "aud": AUDIENCE,
            "email": PUSHER,
            "email_verified": True,
            "iat": now,
            "exp": now + 3600,
        } | claims
        token = jwt.encode({"alg": "RS256", "kid": kid}, message, self.key)
        data = json.dumps({"emailAddress": address, "historyId": str(next(self._numbers))}).encode()
        message = {
            "data": base64.b64encode(data).decode(),
            "messageId": str(next(self._numbers)),
            "publishTime": f"{self.now:%Y-%m-%dT%H:%M:%S}Z",
        }
        body = {"message": message, "subscription": "projects/recollect/subscriptions/mail"}
        return f"Bearer {token}", json.dumps(body).encode()

    def keys(self) -> dict[str, Any]:
        """Google's certificates as a key set."""
        return {"keys": [self.key.as_dict(private=False)]}

    # What Gmail answers.

    def answer_undescribed(self, request: Request, body: bytes) -> DoubleResponse:
        """The certificates of pushes; and authorization."""
        if request.url.path == "/oauth2/v3/certs":
            return DoubleResponse(200, self.keys())
        return super().answer_undescribed(request, body)

    def answer(self, call: ReceivedRequest) -> DoubleResponse:
        """Answer a request, by operation."""
        match call.operation.id:
            case "users.getProfile":
                history = str(next(self._numbers))
                return DoubleResponse(200, {"emailAddress": "Ada@example.test", "historyId": history})
            case "users.labels.list":
                listed = [
                    {"id": id_, "name": self.names.get(id_, id_), "type": kind} for id_, kind in self.labels.items()
                ]
                return DoubleResponse(200, {"labels": listed})
            case "users.threads.list":
                return self._threads(call.query)
            case "users.threads.get":
                return self._thread(call.path_parameters["id"])
            case "users.history.list":
                return self._list_history(call.query)
            case "users.messages.attachments.get":
                return self._attachment(call.path_parameters["id"])
        return self._watch(call)

    def _watch(self, call: ReceivedRequest) -> DoubleResponse:
        if call.operation.id == "users.stop":
            self.watches.clear()
            return DoubleResponse(204)
        if call.body["topicName"] != TOPIC:
            return error_response(400, "invalidArgument", "Invalid topicName")
        self.watches.append(call.body)
        expires = str(int((self.now + timedelta(days=7)).timestamp() * 1000))
        return DoubleResponse(200, {"historyId": str(next(self._numbers)), "expiration": expires})

    def _attachment(self, handle: str) -> DoubleResponse:
        data = self.attachments_by_id.get(handle)
        return (
            DoubleResponse(200, {"size": len(data), "data": _encoded(data)})
            if data is not None
            else error_response(404, "notFound")
        )

    def _threads(self, query: dict[str, str]) -> DoubleResponse:
        label = query.get("labelIds")
        if label is not None and label not in self.labels:
            return error_response(400, "invalidArgument", "Invalid label")
        hidden = set() if label in ("TRASH", "SPAM") else {"TRASH", "SPAM"}
        newest: dict[str, int] = {}
        for message in self.messages.values():
            labels = set(message["labelIds"])
            if not labels & hidden and (label is None or label in labels):
                newest[message["threadId"]] = int(message["internalDate"])
        found = sorted(newest, key=newest.__getitem__, reverse=True)
        begin, size = int(query.get("pageToken", "0")), int(query.get("maxResults", "100"))
        if size > 500:
            raise DescriptionViolationError("threads.list gives at most 500 a page")
        page = [
            {"id": id_, "historyId": str(self.thread_history_ids[id_]), "snippet": ""}
            for id_ in found[begin : begin + size]
        ]
        body: dict[str, Any] = (
            {"threads": page, "resultSizeEstimate": len(found)} if page else {"resultSizeEstimate": 0}
        )
        if found[begin + size :]:
            body["nextPageToken"] = str(begin + size)
        return DoubleResponse(200, body)

    def _thread(self, id_: str) -> DoubleResponse:
        messages = [self.messages[each] for each in self.threads.get(id_, ()) if each in self.messages]
        if not messages:
            return error_response(404, "notFound", "Requested entity was not found.")
        shown = [
            _without_empty_labels(each | {"payload": self._with_attachment_ids(each["id"], each["payload"])})
            for each in messages
        ]
        return DoubleResponse(200, {"id": id_, "historyId": str(self.thread_history_ids[id_]), "messages": shown})

    def _with_attachment_ids(self, message: str, part: Message) -> Message:
        """A part with handles for its contents that are made up anew each time."""
        part = part | {"parts": [self._with_attachment_ids(message, each) for each in part.get("parts", ())]}
        content = self.files.get((message, part["partId"]))
        if content is None and len(part["body"].get("data", "")) > MAX_INLINE_BODY_BYTES:
            content = base64.urlsafe_b64decode(part["body"]["data"] + "==")
        if content is not None:
            handle = f"ANGjdJ{next(self._numbers)}"
            self.attachments_by_id[handle] = content
            part["body"] = {"attachmentId": handle, "size": len(content)}
        return part

    def _list_history(self, query: dict[str, str]) -> DoubleResponse:
        start, size = int(query["startHistoryId"]), int(query.get("maxResults", "100"))
        if start < self.oldest_history_id:
            return error_response(404, "notFound", "Requested entity was not found.")
        begin = int(query.get("pageToken", "0"))
        found = [record for record in self.history if int(record["id"]) > start][begin:]
        body: dict[str, Any] = {"historyId": str(next(self._numbers))}
        if found:
            body["history"] = found[:size]
        if found[size:]:
            body["nextPageToken"] = str(begin + size)
        return DoubleResponse(200, body)

    def _record(self, id_: str, kind: str, **more: Any) -> None:
        number = next(self._numbers)
        message = _without_empty_labels({key: self.messages[id_][key] for key in ("id", "threadId", "labelIds")})
        event = {kind: [{"message": message} | more]}
        self.history.append({"id": str(number), "messages": [{"id": id_, "threadId": message["threadId"]}]} | event)
        self.thread_history_ids[message["threadId"]] = number

    def _text(self, id_: str, media: str, text: str, charset: str) -> Message:
        headers = [{"name": "Content-Type", "value": f'{media}; charset="{charset}"'}]
        data = text.encode(charset)
        return _part(id_, media, body={"data": _encoded(data), "size": len(data)}, headers=headers)

    def _file(self, message: str, id_: str, each: AttachedFile) -> Message:
        self.files[(message, id_)] = each.content
        return _part(id_, each.media, filename=each.name, body={"size": len(each.content)})


def _without_empty_labels(message: Message) -> Message:
    """A mail without labels has no field for them, as Google leaves empty lists out."""
    return message if message["labelIds"] else {key: value for key, value in message.items() if key != "labelIds"}


def _part(id_: str, media: str, **more: Any) -> Message:
    return {"partId": id_, "mimeType": media, "filename": "", "headers": [], "body": {"size": 0}} | more


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def demo(mail: GmailDouble) -> GmailDouble:
    """A small world for the demonstration."""
    thread, _ = mail.deliver("Paint for the lighthouse", "We need forty litres of white paint.")
    answer = "It comes on Monday.\n\nOn Sun, 1 Mar 2026, Ada <ada@example.test> wrote:\n> We need forty litres."
    mail.deliver("Re: Paint for the lighthouse", answer, thread=thread, sender="Grace <grace@example.test>")
    bill = AttachedFile("bill.txt", "text/plain", b"Forty litres of white paint: 320 euros.")
    mail.deliver("Bill", "The bill is attached.", attached=[bill])
    return mail


if __name__ == "__main__":
    double = GmailDouble()

    def ready(address: str) -> None:
        double.address = address
        print(address)  # noqa: T201 - whoever starts it reads its address

    serve_double(demo(double), sys.argv[1:], ready)
