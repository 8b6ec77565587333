"""Commands on standing questions: each change is an event, from which the notifier acts."""

import os
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

from api.commands.namespace_settings import get_or_create_namespace
from api.dependencies.app_state import AppState
from api.errors.http_errors import BadRequestError, ConflictError, NotFoundError
from api.questions.question_notifier import QuestionNotifier
from api.questions.webhook_sender import SECRET_PREFIX
from schemas.address_secrets import is_masked, mask_secrets
from schemas.base import format_timestamp, without_none
from schemas.events import QuestionChanged, QuestionNotification
from schemas.http.extensions import feed_bodies as bodies
from schemas.limits import MAX_QUESTIONS

SECRET_BYTES: Final = 32


async def create_question(
    state: AppState, namespace: str, body: bodies.QuestionBody, key: str
) -> bodies.QuestionCreated:
    """Ask a question; memories formed from now on are matched."""
    questions = state.questions
    await _require_receiver(questions, body.url)
    row = await get_or_create_namespace(state, namespace)
    async with state.settings_lock.acquire(f"questions/{namespace}"):
        await questions.registry.catch_up()
        if len(questions.registry.of(row.incarnations)) >= MAX_QUESTIONS:
            raise ConflictError(
                "The namespace has too many standing questions", f"At most {MAX_QUESTIONS}. Delete one first."
            )
        now = state.clock.now()
        id_, secret = f"question_{uuid4().hex}", _generate_secret()
        question = QuestionChanged(
            id=id_,
            incarnation=row.incarnations[0],
            query=body.query,
            url=mask_secrets(body.url),
            threshold=body.threshold,
            sealed_secret=_seal(questions, id_, secret, body.url),
            created_by_key=key,
            start=await questions.start_offsets(),
            created_at=now,
            updated_at=now,
        )
        await questions.registry.save(question)
    return bodies.QuestionCreated(**_to_response(questions, question).model_dump(exclude_unset=True), secret=secret)


async def list_questions(state: AppState, namespace: str, *, with_paths: bool) -> bodies.QuestionsResponse:
    """List the questions of a namespace, oldest first.

    Paths of receivers are often secrets; only who may connect sees them.
    """
    questions, row = state.questions, state.catalog.namespace(namespace)
    await questions.registry.catch_up()
    found = [] if row is None else questions.registry.of(row.incarnations)
    shown = [_to_response(questions, question) for question in found]
    if not with_paths:
        shown = [question.model_copy(update={"url": origin_of(question.url)}) for question in shown]
    return bodies.QuestionsResponse(questions=shown)


async def change_question(
    state: AppState, namespace: str, id_: str, body: bodies.QuestionPatch, key: str
) -> bodies.QuestionResponse:
    """Change a question; a changed receiver gets at once what the previous one did not accept.

    A question ends with the key that named its receiver.
    """
    fields = body.model_dump(exclude_unset=True)
    if "paused" in fields:
        fields["is_paused"] = fields.pop("paused")
    url = fields.pop("url", None)
    if url is None:
        return await _change(state, namespace, id_, lambda *_: fields)
    await _require_receiver(state.questions, url)

    def name_receiver(questions: QuestionNotifier, question: QuestionChanged) -> Mapping[str, Any]:
        secret, _ = _unseal(questions, question)
        sealed = _seal(questions, id_, secret, url)
        return {**fields, "url": mask_secrets(url), "sealed_secret": sealed, "created_by_key": key}

    return await _change(state, namespace, id_, name_receiver)


async def rotate_secret(state: AppState, namespace: str, id_: str) -> bodies.QuestionCreated:
    """Sign with another secret from now on."""
    secret = _generate_secret()

    def replace_secret(questions: QuestionNotifier, question: QuestionChanged) -> Mapping[str, Any]:
        url = _unseal(questions, question)[1] if is_masked(question.url) else question.url
        return {"sealed_secret": _seal(questions, id_, secret, url)}

    response = await _change(state, namespace, id_, replace_secret)
    return bodies.QuestionCreated(**response.model_dump(exclude_unset=True), secret=secret)


async def act_on_dead_letters(
    state: AppState, namespace: str, id_: str, body: bodies.DeadLettersBody
) -> bodies.QuestionResponse:
    """Deliver again what was given up, or discard it; the notifier does so within seconds."""
    action = {"dead_letter_action": body.action, "dead_letter_action_at": state.clock.now()}
    return await _change(state, namespace, id_, lambda *_: action)


async def delete_question(state: AppState, namespace: str, id_: str) -> None:
    """Delete a question, its words and its deliveries."""
    questions, question = await _require_question(state, namespace, id_)
    await questions.registry.save(
        QuestionChanged(
            id=id_,
            incarnation=question.incarnation,
            created_by_key=question.created_by_key,
            is_deleted=True,
            created_at=question.created_at,
            updated_at=state.clock.now(),
        )
    )


async def try_question(state: AppState, namespace: str, id_: str) -> bodies.QuestionTried:
    """Post a test to the receiver now."""
    questions, question = await _require_question(state, namespace, id_)
    error = await questions.send_test(question)
    return bodies.QuestionTried(delivered=error is None, error=error)


async def _change(
    state: AppState, namespace: str, id_: str, change: Callable[[QuestionNotifier, QuestionChanged], Mapping[str, Any]]
) -> bodies.QuestionResponse:
    async with state.settings_lock.acquire(f"questions/{namespace}"):
        questions, question = await _require_question(state, namespace, id_)
        changed = question.model_copy(update={**change(questions, question), "updated_at": state.clock.now()})
        await questions.registry.save(changed)
    return _to_response(questions, changed)


async def _require_question(state: AppState, namespace: str, id_: str) -> tuple[QuestionNotifier, QuestionChanged]:
    questions, row = state.questions, state.catalog.namespace(namespace)
    await questions.registry.catch_up()
    question = questions.registry.find(id_)
    if question is None or row is None or question.incarnation not in row.incarnations:
        raise NotFoundError("Standing question not found", f"There is no question {id_[:100]!r} in this namespace.")
    return questions, question


async def _require_receiver(questions: QuestionNotifier, url: str) -> None:
    if (fault := await questions.find_fault(url)) is not None:
        raise BadRequestError("Nothing can be sent to this URL", fault)


def _generate_secret() -> str:
    return SECRET_PREFIX + b64encode(os.urandom(SECRET_BYTES)).decode()


def _seal(questions: QuestionNotifier, id_: str, secret: str, url: str) -> str:
    try:
        return questions.seal(id_, secret, url)
    except ValueError as error:
        raise ConflictError("The secret can't be encrypted", str(error)) from error


def _unseal(questions: QuestionNotifier, question: QuestionChanged) -> tuple[str, str]:
    try:
        return questions.unseal(question)
    except ValueError as error:
        raise ConflictError("The secret can't be decrypted: ask the question anew", str(error)) from error


def origin_of(url: str) -> str:
    """Return an address without its path, which is often a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/…"


def _to_response(questions: QuestionNotifier, question: QuestionChanged) -> bodies.QuestionResponse:
    report = questions.registry.report(question)
    obstacle = questions.obstacle(question)
    pending = report.pending[0] if report.pending else None
    error = obstacle or (pending.error if pending else None)
    retry_at = pending.retry_at if pending and obstacle is None else None
    status = "paused" if question.is_paused else "stopped" if obstacle else "failing" if error else "active"
    return bodies.QuestionResponse(
        id=question.id,
        query=question.query,
        url=mask_secrets(question.url),
        threshold=question.threshold,
        status=status,
        created_at=format_timestamp(question.created_at),
        updated_at=format_timestamp(question.updated_at),
        delivered=report.delivered,
        waiting=len(report.pending),
        dead_letters=[_to_undelivered(letter) for letter in report.dead_letters],
        **without_none(delivered_at=report.delivered_at, error=error, retry_at=retry_at),
    )


def _to_undelivered(letter: QuestionNotification) -> bodies.UndeliveredNotification:
    return bodies.UndeliveredNotification(
        id=letter.id,
        at=format_timestamp(letter.at),
        memories=list(letter.memories),
        attempts=letter.attempts,
        error=letter.error or "",
    )
