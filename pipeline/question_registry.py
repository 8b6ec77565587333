"""Standing questions and their deliveries as the log has them, in every process."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager

from pipeline.bus.port import Bus
from pipeline.bus.topic_follower import TopicFollower
from pipeline.stage import Record
from schemas.events import QuestionChanged, QuestionRecorded, QuestionReported
from schemas.topics import QUESTIONS_RECORDED


class QuestionRegistry:
    """The newest state of each question, read from its topic."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._follower: TopicFollower[QuestionRecorded] | None = None
        self._questions: dict[str, QuestionChanged] = {}
        self._reports: dict[str, QuestionReported] = {}

    @asynccontextmanager
    async def follow(self) -> AsyncIterator["QuestionRegistry"]:
        """Follow the topic inside the block; every question of the log is known at its start."""
        async with self._bus.follow(QUESTIONS_RECORDED, self._apply) as self._follower:
            await self._follower.catch_up()
            yield self

    def all(self) -> Collection[QuestionChanged]:
        """Return the questions of all namespaces, oldest first."""
        return [question for question in self._questions.values() if not question.is_deleted]

    def of(self, incarnations: Collection[str]) -> list[QuestionChanged]:
        """Return the questions of a namespace, oldest first."""
        return [question for question in self.all() if question.incarnation in incarnations]

    def find(self, id: str) -> QuestionChanged | None:  # noqa: A002 - a question's own word
        question = self._questions.get(id)
        return None if question is None or question.is_deleted else question

    def report(self, question: QuestionChanged) -> QuestionReported:
        return self._reports.get(question.id) or QuestionReported(
            id=question.id, incarnation=question.incarnation, at=question.created_at, positions=question.start
        )

    async def save(self, change: QuestionChanged | QuestionReported) -> None:
        """Write a question or its deliveries to the log; known here on return. OutageError."""
        suffix = "/deliveries" if isinstance(change, QuestionReported) else ""
        key = f"{change.incarnation}/question/{change.id}{suffix}"
        await self._bus.publish(QUESTIONS_RECORDED, [(key, QuestionRecorded(change=change))])
        await self.catch_up()

    async def catch_up(self) -> None:
        """Wait until everything written before this call, by any process, is known. OutageError."""
        if self._follower is not None:
            await self._follower.catch_up()

    async def _apply(self, batch: Sequence[Record[QuestionRecorded]]) -> None:
        for record in batch:
            change = record.event.change
            if isinstance(change, QuestionReported):
                self._reports[change.id] = change
            else:
                self._questions[change.id] = change
                if change.is_deleted:
                    self._reports.pop(change.id, None)
