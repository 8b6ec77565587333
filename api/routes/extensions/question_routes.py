"""Standing questions: each change is an event, from which the notifier acts (extension of the contract)."""

import os
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

from fastapi import APIRouter

from api.commands.namespace_settings import get_or_create_namespace
from api.dependencies.authentication import ReadAccess, SubscribeAccess
from api.dependencies.path_and_query_parameters import ResourcePath
from api.errors.http_errors import BadRequestError, ConflictError, NotFoundError
from api.questions.question_notifier import QuestionNotifier
from api.questions.webhook_sender import SECRET_PREFIX
from api.routes.contract_route import ContractRoute, error_responses
from schemas.address_secrets import is_masked, mask_secrets
from schemas.base import without_none
from schemas.events import QuestionChanged, QuestionNotification
from schemas.http.extensions import feed_bodies as bodies
from schemas.limits import MAX_QUESTIONS

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/explain/questions", tags=["Why"])

SECRET_BYTES: Final = 32
_ERRORS = error_responses(400, 401, 403, 404, 409, 500, 503)


@router.post("", status_code=201, responses=_ERRORS, response_model_exclude_unset=True)
async def create_question(access: SubscribeAccess, body: bodies.QuestionBody) -> bodies.QuestionCreated:
    """Ask a standing question: new answers are sent to a webhook. Only this response contains the secret."""
    state, questions = access.state, access.state.questions
    await _require_receiver(questions, body.url)
    row = await get_or_create_namespace(state, access.namespace)
    async with state.settings_lock.acquire(f"questions/{access.namespace}"):
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
            created_by_key=access.principal.id,
            start=await questions.start_offsets(),
            created_at=now,
            updated_at=now,
        )
        await questions.registry.save(question)
    created = _with_secret(_to_response(questions, question), secret)
    access.add_audit_fields(id=created.id, url=_origin_of(created.url))
    return created


@router.get("", responses=error_responses(400, 401, 403, 500, 503), response_model_exclude_unset=True)
async def list_questions(access: ReadAccess) -> bodies.QuestionsResponse:
    """List the standing questions of the namespace and how their deliveries go."""
    questions, row = access.state.questions, access.state.catalog.namespace(access.namespace)
    await questions.registry.catch_up()
    found = [] if row is None else questions.registry.of(row.incarnations)
    shown = [_to_response(questions, question) for question in found]
    # Paths of receivers are often secrets; only who may connect sees them.
    if not access.principal.may("connect", access.namespace):
        shown = [question.model_copy(update={"url": _origin_of(question.url)}) for question in shown]
    return bodies.QuestionsResponse(questions=shown)


@router.patch("/{id}", responses=_ERRORS, response_model_exclude_unset=True)
async def change_question(
    access: SubscribeAccess, id: ResourcePath, body: bodies.QuestionPatch
) -> bodies.QuestionResponse:
    """Change, pause or resume a standing question."""
    fields = body.model_dump(exclude_unset=True)
    about = {name: value for name, value in fields.items() if name not in {"query", "url"}}
    if "paused" in fields:
        fields["is_paused"] = fields.pop("paused")
    url = fields.pop("url", None)
    if url is None:
        changed = await _change(access, id, lambda *_: fields)
    else:
        await _require_receiver(access.state.questions, url)

        def name_receiver(questions: QuestionNotifier, question: QuestionChanged) -> Mapping[str, Any]:
            secret, _ = _unseal(questions, question)
            sealed = _seal(questions, id, secret, url)
            # What the previous receiver did not accept is sent at once. A question ends with the key that named it.
            return {**fields, "url": mask_secrets(url), "sealed_secret": sealed, "created_by_key": access.principal.id}

        changed = await _change(access, id, name_receiver)
        about["url"] = _origin_of(changed.url)
    access.add_audit_fields(**about)
    return changed


@router.post("/{id}/rotate", responses=_ERRORS, response_model_exclude_unset=True)
async def rotate_question_secret(access: SubscribeAccess, id: ResourcePath) -> bodies.QuestionCreated:
    """Sign with a new secret from now on. Only this response contains it."""
    secret = _generate_secret()

    def replace_secret(questions: QuestionNotifier, question: QuestionChanged) -> Mapping[str, Any]:
        url = _unseal(questions, question)[1] if is_masked(question.url) else question.url
        return {"sealed_secret": _seal(questions, id, secret, url)}

    return _with_secret(await _change(access, id, replace_secret), secret)


@router.post("/{id}/test", responses=_ERRORS, response_model_exclude_unset=True)
async def test_question(access: SubscribeAccess, id: ResourcePath) -> bodies.QuestionTried:
    """Post a signed test, without memories, to the receiver."""
    questions, question = await _require_question(access, id)
    error = await questions.send_test(question)
    return bodies.QuestionTried(delivered=error is None, error=error)


@router.post("/{id}/dead-letters", responses=_ERRORS, response_model_exclude_unset=True)
async def act_on_dead_letters(
    access: SubscribeAccess, id: ResourcePath, body: bodies.DeadLettersBody
) -> bodies.QuestionResponse:
    """Deliver again the notifications that were given up, or discard them."""
    access.add_audit_fields(action=body.action)
    action = {"dead_letter_action": body.action, "dead_letter_action_at": access.state.clock.now()}
    return await _change(access, id, lambda *_: action)


@router.delete("/{id}", responses=_ERRORS, response_model_exclude_unset=True)
async def delete_question(access: SubscribeAccess, id: ResourcePath) -> bodies.QuestionDeleted:
    """Delete a standing question and its deliveries."""
    questions, question = await _require_question(access, id)
    await questions.registry.save(
        QuestionChanged(
            id=id,
            incarnation=question.incarnation,
            created_by_key=question.created_by_key,
            is_deleted=True,
            created_at=question.created_at,
            updated_at=access.state.clock.now(),
        )
    )
    return bodies.QuestionDeleted(id=id, deleted=True)


def _with_secret(question: bodies.QuestionResponse, secret: str) -> bodies.QuestionCreated:
    return bodies.QuestionCreated(**question.model_dump(exclude_unset=True), secret=secret)


async def _change(
    access: SubscribeAccess, id_: str, change: Callable[[QuestionNotifier, QuestionChanged], Mapping[str, Any]]
) -> bodies.QuestionResponse:
    async with access.state.settings_lock.acquire(f"questions/{access.namespace}"):
        questions, question = await _require_question(access, id_)
        changed = question.model_copy(update={**change(questions, question), "updated_at": access.state.clock.now()})
        await questions.registry.save(changed)
    return _to_response(questions, changed)


async def _require_question(access: SubscribeAccess, id_: str) -> tuple[QuestionNotifier, QuestionChanged]:
    questions, row = access.state.questions, access.state.catalog.namespace(access.namespace)
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


def _origin_of(url: str) -> str:
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
    return bodies.QuestionResponse.of(
        question,
        url=mask_secrets(question.url),
        status=status,
        delivered=report.delivered,
        waiting=len(report.pending),
        dead_letters=[_to_undelivered(letter) for letter in report.dead_letters],
        **without_none(delivered_at=report.delivered_at, error=error, retry_at=retry_at),
    )


def _to_undelivered(letter: QuestionNotification) -> bodies.UndeliveredNotification:
    return bodies.UndeliveredNotification.of(letter, memories=list(letter.memories), error=letter.error or "")
