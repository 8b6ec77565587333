"""Worker that finds what is new about standing questions and delivers it; one process at a time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from functools import partial
from hashlib import blake2b
from typing import Any, Final, Protocol

from api.feed.stage_progress import StageProgress
from api.questions.question_matching import QuestionSources, build_notification, find_answers, read_formed
from api.questions.webhook_sender import WebhookSender, sign
from pipeline.bus.port import Bus
from pipeline.errors import RetryableError
from pipeline.ports import Clock, Lease, Locks
from pipeline.question_registry import QuestionRegistry
from pipeline.rows import NamespaceRow
from pipeline.runtime.backoff import exponential_backoff
from pipeline.runtime.settings_lock import SettingsLock
from schemas.base import format_timestamp
from schemas.events import QuestionChanged, QuestionNotification, QuestionReported
from schemas.http.extensions.feed_bodies import AskedQuestion, Notification
from schemas.topics import MEMORIES_FORMED

TICK_SECONDS = 1.0
"""Interval of looking for work, and with it of the deliveries of one question: 60 a minute."""
MAX_MEMORIES: Final = 20
"""Memories of one notification."""
MAX_ATTEMPTS: Final = 12
FIRST_RETRY_SECONDS = 5.0
MAX_RETRY_SECONDS = 900.0
"""Pauses of 5 s to 15 min between attempts; the last one is an hour after the first."""
MAX_DEAD_LETTERS: Final = 50
"""A question with so many stops until somebody redelivers or discards them."""
MAX_TOLD: Final = 500
MAX_CONCURRENT: Final = 8
"""Questions that are worked on at once."""
MAX_CONCURRENT_PER_KEY: Final = 4
"""Questions of one key among them: its receivers may be slow, and others' news must not wait for them."""
_SAVED_RECORDS: Final = 1000
"""Records of others after which the place of a question without news is written down."""
log = logging.getLogger(__name__)


class SecretCipher(Protocol):
    """Encrypts secrets with the operator's key. ValueError names a missing or wrong key."""

    def encrypt(self, connector: str, values: Mapping[str, Any], /) -> str: ...

    def decrypt(self, connector: str, encrypted: str, /) -> Mapping[str, Any]: ...

    def uses_current_key(self, encrypted: str, /) -> bool: ...


@dataclass(eq=False)
class QuestionNotifier:
    """Finds answers and delivers them. `find_obstacle`: why a question's key may not be notified, None if it may."""

    registry: QuestionRegistry
    bus: Bus
    sender: WebhookSender
    cipher: Callable[[], SecretCipher]
    sources: Callable[[], QuestionSources]
    _: KW_ONLY
    find_obstacle: Callable[[QuestionChanged, str], str | None]
    clock: Clock
    locks: Locks
    settings_lock: SettingsLock
    _progress: StageProgress = field(init=False)
    _positions: dict[str, Mapping[int, int]] = field(default_factory=dict)
    _scanned: Mapping[int, int] = field(default_factory=dict)
    _busy: dict[str, str] = field(default_factory=dict)
    """Questions that are worked on, with the keys that asked them."""
    _tested: set[str] = field(default_factory=set)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT))

    def __post_init__(self) -> None:
        self._progress = StageProgress(self.bus, lambda: self.sources().tables.generation)

    def seal(self, question: str, secret: str, url: str) -> str:
        """Encrypt the secret of a question and its receiver's address. ValueError names a missing key."""
        return self.cipher().encrypt(question, {"secret": secret, "url": url})

    def unseal(self, question: QuestionChanged) -> tuple[str, str]:
        """Decrypt the secret of a question and its receiver's address. ValueError names a missing or wrong key."""
        values = self.cipher().decrypt(question.id, question.sealed_secret)
        return values["secret"], values["url"]

    async def find_fault(self, url: str) -> str | None:
        """Return why nothing can be sent to a URL; None if nothing speaks against it."""
        return await self.sender.find_fault(url)

    async def start_offsets(self) -> dict[int, int]:
        """Return the position in the log from which a new question is answered."""
        return dict(await self.bus.end_offsets(MEMORIES_FORMED.name))

    def namespace_of(self, question: QuestionChanged) -> NamespaceRow | None:
        return self.sources().tables.catalog.namespace_of(question.incarnation)

    async def send_test(self, question: QuestionChanged) -> str | None:
        """Post a notification without memories now; return why it failed, None if the receiver took it.

        One at a time for a namespace: slow receivers would take the connections of other deliveries.
        """
        if question.incarnation in self._tested or len(self._tested) >= MAX_CONCURRENT:
            return "Another test is under way. Try again in a moment."
        self._tested.add(question.incarnation)
        try:
            return await self._send(question, self._test_notification(question))
        finally:
            self._tested.discard(question.incarnation)

    def _test_notification(self, question: QuestionChanged) -> Notification:
        namespace, now = self.namespace_of(question), self.clock.now()
        return Notification(
            type="question.test",
            id=_notification_id(question, [format_timestamp(now)]),
            at=format_timestamp(now),
            namespace="" if namespace is None else namespace.name,
            question=AskedQuestion(id=question.id, query=question.query),
            memories=[],
        )

    def obstacle(self, question: QuestionChanged) -> str | None:
        """Return why a question that is not paused is stopped; None if it is not."""
        return None if question.is_paused else self._obstacle(question)

    async def run(self) -> None:
        """Work on the questions until cancelled, while no other process does."""
        async with self.locks.acquire("standing-questions") as lease:
            self._positions, self._scanned, self._busy = {}, {}, {}
            await self.rotate_keys()
            async with asyncio.TaskGroup() as tasks:
                while True:
                    await self._start_steps(tasks, lease)
                    await asyncio.sleep(TICK_SECONDS)

    async def _start_steps(self, tasks: asyncio.TaskGroup, lease: Lease) -> None:
        questions = [question for question in self.registry.all() if self._obstacle(question) is None]
        if not questions:
            return
        lease.ensure_valid()
        await self.settings_lock.catch_up()
        ends = await self.bus.end_offsets(MEMORIES_FORMED.name)
        touched = await self._touched(ends)
        for question in questions:
            namespace = self.namespace_of(question)
            if namespace is None or question.id in self._busy or self._is_at_limit(question.created_by_key):
                continue
            report = self.registry.report(question)
            position = self._positions.get(question.id, report.positions)
            if position == self._scanned and not touched.intersection(namespace.incarnations):
                self._positions[question.id] = position = ends  # nothing of it in between
            if _has_action(question, report) or report.pending or position != ends:
                self._busy[question.id] = question.created_by_key
                tasks.create_task(self._work(partial(self._step, question, namespace, ends, lease), question))
        self._scanned = ends

    def _is_at_limit(self, key: str) -> bool:
        return list(self._busy.values()).count(key) >= MAX_CONCURRENT_PER_KEY

    async def rotate_keys(self) -> tuple[int, list[str]]:
        """Encrypt anew the secrets that an older key encrypted: how many, and the questions that no key decrypts."""
        rotated, unreadable = 0, []
        for question in self.registry.all():
            try:
                if self.cipher().uses_current_key(question.sealed_secret):
                    continue
                sealed = self.seal(question.id, *self.unseal(question))
            except ValueError as error:
                log.warning("The secret of standing question %s stays as it is: %s", question.id, error)
                unreadable.append(question.id)
            else:
                await self.registry.save(question.model_copy(update={"sealed_secret": sealed}))
                rotated += 1
        return rotated, unreadable

    def _obstacle(self, question: QuestionChanged) -> str | None:
        """Return why nothing is done about a question; None if something is."""
        namespace = self.namespace_of(question)
        if namespace is None:
            return "Its namespace is gone."
        if question.is_paused:
            return "It is paused."
        report = self.registry.report(question)
        if len(report.dead_letters) >= MAX_DEAD_LETTERS and not _has_action(question, report):
            return f"{MAX_DEAD_LETTERS} notifications could not be delivered: redeliver or discard them."
        return self.find_obstacle(question, namespace.name)

    async def _touched(self, ends: Mapping[int, int]) -> set[str]:
        """Return the incarnations with records since the last look; none at the first, when all are behind."""
        found = set()
        for partition, end in ends.items() if self._scanned else ():
            if (start := self._scanned.get(partition, 0)) < end:
                async for raw in self.bus.read(MEMORIES_FORMED.name, partition, start, end):
                    found.add(raw.key.decode(errors="replace"))
        return found

    async def _work(self, step: Callable[[], Awaitable[None]], question: QuestionChanged) -> None:
        try:
            async with self._slots:
                await step()
        except (RetryableError, OSError, RuntimeError, ValueError) as error:
            # The next tick tries it again: one question never stops the others.
            log.warning("Standing question %s waits: %r", question.id, error)
        finally:
            self._busy.pop(question.id, None)

    async def _step(
        self, question: QuestionChanged, namespace: NamespaceRow, ends: Mapping[int, int], lease: Lease
    ) -> None:
        """Carry out what was asked for, then deliver one notification, or else find the next ones."""
        report = self.registry.report(question)
        if _has_action(question, report):
            report = _after_action(question, report)
            await self._save(report)
        if report.pending:
            due = report.pending[0].retry_at
            if due is None or due <= self.clock.now() or question.updated_at > report.at:
                lease.ensure_valid()
                await self._deliver(question, namespace, report)
            return
        position = self._positions.get(question.id, report.positions)
        records, after = await read_formed(self.bus, namespace.incarnations, position, ends)
        answers = await find_answers(question, namespace, records, self._progress, self.sources) if records else {}
        known = {*report.told, *(id_ for letter in report.dead_letters for id_ in letter.memories)}
        new = {id_: similarity for id_, similarity in answers.items() if id_ not in known}
        skipped = sum(after[part] - report.positions.get(part, 0) for part in after)
        if new or skipped >= _SAVED_RECORDS:
            found = list(new.items())
            parts = [dict(found[at : at + MAX_MEMORIES]) for at in range(0, len(found), MAX_MEMORIES)]
            pending = tuple(self._notification(question, part) for part in parts)
            told = (*report.told, *new)[-MAX_TOLD:]
            await self._save(report.model_copy(update={"positions": after, "pending": pending, "told": told}))
        self._positions[question.id] = after
        if new:
            await self._deliver(question, namespace, self.registry.report(question))

    async def _deliver(self, question: QuestionChanged, namespace: NamespaceRow, report: QuestionReported) -> None:
        """Post the first notification and write down what became of it."""
        first, *later = report.pending
        body = await build_notification(question, namespace, first, self.sources().tables)
        error = None if body is None else await self._send(question, body)
        now, changes = self.clock.now(), dict[str, Any](pending=tuple(later))
        if error is None and body is not None:
            changes |= {"delivered": report.delivered + 1, "delivered_at": now}
        elif error is not None:
            attempts = first.attempts + 1
            pause = timedelta(seconds=exponential_backoff(FIRST_RETRY_SECONDS, attempts, MAX_RETRY_SECONDS))
            failed = first.model_copy(update={"attempts": attempts, "error": error, "retry_at": now + pause})
            if attempts < MAX_ATTEMPTS:
                changes["pending"] = (failed, *later)
            else:
                log.warning("Standing question %s: a notification was given up. %s", question.id, error)
                changes["dead_letters"] = (*report.dead_letters, failed)
        if self.registry.find(question.id) is not None:  # its deletion left no words of it
            await self._save(report.model_copy(update=changes))

    async def _send(self, question: QuestionChanged, body: Notification) -> str | None:
        try:
            secret, url = self.unseal(question)
        except ValueError as error:
            return str(error)
        content = body.model_dump_json(by_alias=True).encode()
        headers = sign(secret, body.id, self.clock.now(), content)
        return await self.sender.send(url, content, headers)

    async def _save(self, report: QuestionReported) -> None:
        await self.registry.save(report.model_copy(update={"at": self.clock.now()}))

    def _notification(self, question: QuestionChanged, memories: dict[str, float]) -> QuestionNotification:
        return QuestionNotification(
            id=_notification_id(question, sorted(memories)), at=self.clock.now(), memories=memories
        )


def _has_action(question: QuestionChanged, report: QuestionReported) -> bool:
    return question.dead_letter_action_at is not None and question.dead_letter_action_at != report.handled_action_at


def _after_action(question: QuestionChanged, report: QuestionReported) -> QuestionReported:
    changes: dict[str, Any] = {"dead_letters": (), "handled_action_at": question.dead_letter_action_at}
    if question.dead_letter_action == "redeliver":
        again = (letter.model_copy(update={"attempts": 0, "retry_at": None}) for letter in report.dead_letters)
        changes["pending"] = (*again, *report.pending)
    return report.model_copy(update=changes)


def _notification_id(question: QuestionChanged, parts: list[str]) -> str:
    digest = blake2b("\x1f".join([question.id, *parts]).encode(), digest_size=16)
    return f"msg_{digest.hexdigest()}"
