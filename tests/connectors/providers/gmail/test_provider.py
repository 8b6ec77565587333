"""Gmail against its double: every trap that its interface has."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from connectors.errors import AuthExpiredError, PlanRequiredError, RateLimitedError, WebhookVerificationError
from connectors.provider_interface import Connection, WebhookDelivery
from connectors.providers.gmail.provider import Gmail, PubSubConfig
from connectors.providers.google.oauth_client import GoogleOAuthClient
from connectors.providers.google.pubsub_push import GoogleSigningKeys
from connectors.sync_messages import Checkpoint
from schemas.events import ConnectorAccount
from tests.support.connectors.in_memory_sync import (
    InMemorySync,
    SimulatedKill,
    VirtualSleep,
    connect,
    http_clients,
)
from tests.support.fakes import FixedClock
from tests.support.providers.gmail_double import AUDIENCE, PUSHER, TOPIC, AttachedFile, GmailDouble
from tests.support.providers.google_double import error_response
from tests.support.providers.provider_double import DoubleResponse

pytestmark = pytest.mark.anyio


@dataclass
class World:
    """A mailbox, its connector, and what the connector's runs lead to."""

    mail: GmailDouble
    clock: FixedClock
    mirror: InMemorySync = field(default_factory=InMemorySync)
    patience: VirtualSleep = field(default_factory=VirtualSleep)
    certificates: int = 0

    def __post_init__(self) -> None:
        self.clients = http_clients(self.mail)
        client = GoogleOAuthClient("the-client", "the-client-secret", self.mail.address)
        push = PubSubConfig(TOPIC, AUDIENCE, PUSHER, GoogleSigningKeys("https://keys.test", self._keys, self.clock))
        self.provider = Gmail(client, clock=self.clock, pubsub=push)

    async def _keys(self, url: str) -> bytes:
        assert url == "https://keys.test"
        self.certificates += 1
        return json.dumps(self.mail.keys()).encode()

    def connect(self, labels: Sequence[str] = ()) -> Connection:
        chosen = {"labels": labels} if labels else None
        accounts = self.mail.accounts
        made = connect(
            self.provider,
            self.clients,
            accounts,
            virtual_sleep=self.patience,
            selection=chosen,  # type: ignore[arg-type]  # a label is a kind
        )
        return replace(made, account=ConnectorAccount(name="ada@example.test", webhook_id="ada@example.test"))

    async def sync(self, *labels: str) -> list[str]:
        """A run; the operations that it asked for."""
        self.mail.drain_operation_ids()
        await self.mirror.run(self.provider, self.connect(labels))
        return [name.removeprefix("users.") for name in self.mail.drain_operation_ids()]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    mail = GmailDouble()
    yield World(mail, FixedClock(mail.now))
    mail.assert_no_violations()


async def test_a_thread_is_one_document_of_all_its_messages(world: World) -> None:
    thread, _ = world.mail.deliver("Lighthouse", "Shall we paint it?")
    world.mail.deliver("Re: Lighthouse", "In spring.", thread=thread, sender="Grace <grace@example.test>")
    await world.sync()
    item = world.mirror.items[thread]
    assert item.title == "Lighthouse"
    assert item.text == (
        "# Lighthouse\n\n"
        "## Ada <ada@example.test>, 2026-03-01 12:01 UTC\n\nTo: Grace <grace@example.test>\n\n"
        "Shall we paint it?\n\n"
        "## Grace <grace@example.test>, 2026-03-01 12:02 UTC\n\nTo: Grace <grace@example.test>\n\n"
        "In spring."
    )
    assert item.metadata["author"] == "Ada"
    assert item.metadata["participants"] == ["ada@example.test", "grace@example.test"]
    assert item.metadata["labels"] == ["INBOX"]
    assert item.metadata["createdAt"] == "2026-03-01T12:01:00.000Z"
    assert item.url == f"https://mail.google.com/mail/?authuser=ada@example.test#all/{thread}"


@pytest.mark.parametrize("data", ["TGlna", "TG!n"])
async def test_a_part_that_can_not_be_decoded_is_told_beside_the_others(world: World, data: str) -> None:
    thread, id_ = world.mail.deliver("Lighthouse", "Shall we paint it?")
    payload = world.mail.messages[id_]["payload"]
    broken = {**payload, "partId": "1", "mimeType": "text/html", "body": {"data": data, "size": 4}}
    whole = {**payload, "partId": "0"}
    world.mail.messages[id_]["payload"] = {
        **payload,
        "mimeType": "multipart/mixed",
        "parts": [whole, broken],
        "body": {"size": 0},
    }
    await world.sync()
    text = world.mirror.items[thread].text or ""
    assert "Shall we paint it?" in text
    assert "(A part of this message was left out: its text/html is damaged.)" in text
    assert "(no text)" not in text


async def test_a_run_in_which_nothing_happened_is_one_call(world: World) -> None:
    world.mail.deliver("a")
    await world.sync()
    assert await world.sync() == ["history.list"]
    assert [type(step) for step in world.mirror.messages] == [Checkpoint]


async def test_the_history_is_opened_before_anything_is_listed(world: World) -> None:
    assert (await world.sync())[:2] == ["getProfile", "threads.list"]


async def test_a_new_message_brings_its_thread_anew(world: World) -> None:
    thread, _ = world.mail.deliver("a", "one")
    await world.sync()
    world.mail.deliver("Re: a", "two", thread=thread)
    assert await world.sync() == ["history.list", "threads.get", "labels.list"]
    assert "two" in (world.mirror.items[thread].text or "")


async def test_reading_and_starring_mail_costs_nothing(world: World) -> None:
    _, id_ = world.mail.deliver("a", labels=["INBOX", "UNREAD"])
    await world.sync()
    world.mail.relabel(id_, remove=["UNREAD"])
    world.mail.relabel(id_, add=["STARRED"])
    assert await world.sync() == ["history.list"]


async def test_a_draft_that_is_written_costs_nothing_and_is_no_document(world: World) -> None:
    await world.sync()
    world.mail.deliver("unfinished", labels=["DRAFT"])
    assert await world.sync() == ["history.list"]
    assert not world.mirror.items


async def test_mail_that_a_filter_archives_as_read_has_no_labels_and_arrives(world: World) -> None:
    await world.sync()
    thread, _ = world.mail.deliver("Newsletter", "The lamp is lit.", labels=[])
    assert await world.sync() == ["history.list", "threads.get", "labels.list"]
    assert "lamp" in (world.mirror.items[thread].text or "")


async def test_a_page_of_the_history_without_relevant_records_leads_to_the_next(world: World) -> None:
    thread, _ = world.mail.deliver("a")
    await world.sync()
    world.mail.deliver("Re: a", "two", thread=thread)
    empty = DoubleResponse(200, {"historyId": "9999", "nextPageToken": "0"})
    world.mail.fail(empty, "users.history.list")
    await world.sync()
    assert "two" in (world.mirror.items[thread].text or "")


async def test_mail_in_the_bin_goes_though_it_is_not_deleted_and_comes_back(world: World) -> None:
    thread, id_ = world.mail.deliver("a")
    await world.sync()
    world.mail.relabel(id_, add=["TRASH"], remove=["INBOX"])
    await world.sync()
    assert not world.mirror.items
    world.mail.relabel(id_, add=["INBOX"], remove=["TRASH"])
    await world.sync()
    assert world.mirror.items.keys() == {thread}


async def test_mail_that_was_deleted_for_good_goes(world: World) -> None:
    thread, first = world.mail.deliver("a", "one")
    _, second = world.mail.deliver("Re: a", "two", thread=thread)
    await world.sync()
    world.mail.purge(second)
    await world.sync()
    assert "two" not in (world.mirror.items[thread].text or "")
    world.mail.purge(first)
    await world.sync()
    assert not world.mirror.items


async def test_several_labels_mean_any_of_them(world: World) -> None:
    first, second, third = (world.mail.label(name) for name in ("one", "two", "three"))
    a, b = world.mail.deliver("a", labels=[first])[0], world.mail.deliver("b", labels=[second])[0]
    both = world.mail.deliver("both", labels=[first, second])[0]
    world.mail.deliver("neither", labels=[third])
    calls = await world.sync(first, second)
    assert world.mirror.items.keys() == {a, b, both}
    assert calls.count("threads.get") == 3


async def test_a_thread_that_loses_its_label_is_out_of_the_selection(world: World) -> None:
    label = world.mail.label("Projects")
    thread, id_ = world.mail.deliver("a", labels=["INBOX"])
    await world.sync(label)
    assert not world.mirror.items
    world.mail.relabel(id_, add=[label])
    await world.sync(label)
    assert world.mirror.items[thread].metadata["labels"] == ["INBOX", "Projects"]
    world.mail.relabel(id_, remove=[label])
    await world.sync(label)
    assert not world.mirror.items


async def test_other_labels_begin_anew_and_one_that_is_gone_is_said_so(world: World) -> None:
    first, second = world.mail.label("one"), world.mail.label("two")
    world.mail.deliver("a", labels=[first])
    b = world.mail.deliver("b", labels=[second])[0]
    await world.sync(first)
    await world.sync(second, "Label_gone")
    assert world.mirror.items.keys() == {b}
    assert world.mirror.failures["Label_gone"].code == "not_found"


async def test_a_history_that_is_too_old_leads_to_a_complete_listing(world: World) -> None:
    kept = world.mail.deliver("kept")[0]
    _, gone = world.mail.deliver("gone")
    await world.sync()
    world.mail.purge(gone)
    world.mail.expire_history()
    calls = await world.sync()
    assert calls == ["history.list", "getProfile", "threads.list"]
    assert world.mirror.items.keys() == {kept}


async def test_what_a_message_repeats_of_those_before_is_left_out(world: World) -> None:
    thread, _ = world.mail.deliver("a", "Shall we?\n\n> an older mail that is nowhere else")
    world.mail.deliver(
        "Re: a",
        "Yes.\n\nOn Sun, 1 Mar 2026 at 12:01, Ada <ada@example.test>\nwrote:\n\n> Shall we?\n> really",
        thread=thread,
    )
    quote = '<blockquote class="gmail_quote">Shall we?</blockquote>'
    quote = f'<div class="gmail_quote"><div class="gmail_attr">On Sunday Ada wrote:</div>{quote}</div>'
    world.mail.deliver("Re: a", None, html=f"<p>And <b>when</b>?</p>{quote}", thread=thread)
    world.mail.deliver("AW: a", "Morgen.\n\n-----Original Message-----\nFrom: Ada\nShall we?", thread=thread)
    await world.sync()
    text = world.mirror.items[thread].text or ""
    assert text.count("Shall we?") == 1
    assert "an older mail that is nowhere else" in text
    assert "wrote:" not in text
    assert "And **when**?" in text
    assert "Morgen." in text


async def test_an_answer_between_the_lines_is_kept(world: World) -> None:
    thread, _ = world.mail.deliver("a", "One? Two?")
    world.mail.deliver("Re: a", "On Sunday, Ada <a@b.c> wrote:\n> One?\nYes to one.\n> Two?\nNo to two.", thread=thread)
    await world.sync()
    text = world.mirror.items[thread].text or ""
    assert "Yes to one.\nNo to two." in text


@pytest.mark.parametrize("line", ["On " + "wrote " * 60, "From: a", "> " * 200, "_" * 300, "---- " * 80])
async def test_a_mail_of_one_odd_line_many_times_is_read(world: World, line: str) -> None:
    thread, _ = world.mail.deliver("a")
    world.mail.deliver("Re: a", "\n".join([line] * 20_000), thread=thread)
    await world.sync()
    assert thread in world.mirror.items


async def test_what_is_passed_on_is_kept(world: World) -> None:
    thread, _ = world.mail.deliver("a", "one")
    passed = "See below.\n\n---------- Forwarded message ---------\nFrom: Bob\n\n> The offer is 300."
    world.mail.deliver("Fwd: a", passed, thread=thread)
    html = '<div class="gmail_attr">---------- Forwarded message ---------</div>The offer is 400.'
    html = f'<p>See</p><div class="gmail_quote">{html}</div>'
    world.mail.deliver("Fwd: a", None, html=html, thread=thread)
    await world.sync()
    assert "The offer is 300." in (world.mirror.items[thread].text or "")
    assert "The offer is 400." in (world.mirror.items[thread].text or "")


async def test_mail_in_html_is_read_without_its_layout_and_pictures(world: World) -> None:
    html = (
        "<html><head><style>p{}</style></head><body><div style='display:none'>preview</div>"
        "<table><tr><td><table><tr><td><h2>News</h2><img src='https://track.test/1.gif'>"
        "<p>Read <a href='https://example.test/a'>this</a>.</p></td></tr></table></td></tr></table>"
        "<table><tr><th>Item</th><th>Price</th></tr><tr><td>Lamp</td><td>30</td></tr></table></body></html>"
    )
    thread, _ = world.mail.deliver("News", None, html=html)
    await world.sync()
    text = (world.mirror.items[thread].text or "").partition("grace@example.test>\n\n")[2]
    assert text.startswith("## News\n\nRead [this](https://example.test/a).")
    assert "| Lamp | 30 |" in text
    assert "track.test" not in text
    assert "preview" not in text


async def test_headers_and_texts_in_other_charsets_are_readable(world: World) -> None:
    thread, _ = world.mail.deliver("=?iso-8859-1?Q?Gr=FC=DFe?=", "Schöne Grüße", charset="iso-8859-1")
    await world.sync()
    assert world.mirror.items[thread].title == "Grüße"
    assert "Schöne Grüße" in (world.mirror.items[thread].text or "")


async def test_a_very_long_text_is_fetched_like_an_attachment(world: World) -> None:
    thread, _ = world.mail.deliver("a", "word " * 40_000)
    calls = await world.sync()
    assert calls.count("messages.attachments.get") == 1
    assert len(world.mirror.items[thread].text or "") > 150_000


PLAN = AttachedFile("plan.txt", "text/plain", b"The plan")
LOGO = AttachedFile("logo.png", "image/png", b"PNG")


async def test_attachments_are_documents_beside_their_thread(world: World) -> None:
    thread, id_ = world.mail.deliver("a", attached=[PLAN, LOGO])
    await world.sync()
    key = f"{thread}/{id_}/1"
    assert world.mirror.items.keys() == {thread, key}
    assert world.mirror.text(key) == "The plan"
    assert world.mirror.items[key].metadata["thread"] == thread
    assert "Attachments: plan.txt, logo.png (not read)" in (world.mirror.items[thread].text or "")


async def test_attachments_are_fetched_once_though_their_handles_change(world: World) -> None:
    thread, _ = world.mail.deliver("a", attached=[PLAN])
    await world.sync()
    world.mail.deliver("Re: a", thread=thread)
    assert "messages.attachments.get" not in await world.sync()
    assert len(world.mirror.items) == 2


async def test_attachments_outlive_a_complete_listing_and_go_with_their_message(world: World) -> None:
    thread, id_ = world.mail.deliver("a", attached=[PLAN])
    world.mail.deliver("Re: a", thread=thread)
    await world.sync()
    world.mail.expire_history()
    await world.sync()
    assert len(world.mirror.items) == 2
    world.mail.relabel(id_, add=["TRASH"])
    await world.sync()
    assert world.mirror.items.keys() == {thread}


async def test_attachments_go_with_their_thread(world: World) -> None:
    _, id_ = world.mail.deliver("a", attached=[PLAN])
    await world.sync()
    world.mail.purge(id_)
    await world.sync()
    assert not world.mirror.items


@pytest.mark.parametrize("kill_after", [1, 50, 120, 201, 240])
async def test_a_killed_listing_continues_and_loses_nothing(world: World, kill_after: int) -> None:
    ids = {world.mail.deliver(f"{number}")[0] for number in range(240)}
    world.mirror.kill_after_messages = kill_after
    with pytest.raises(SimulatedKill):
        await world.sync()
    await world.sync()
    assert world.mirror.items.keys() == ids


async def test_a_killed_run_over_the_history_continues(world: World) -> None:
    await world.sync()
    ids = {world.mail.deliver(f"{number}")[0] for number in range(20)}
    world.mirror.kill_after_messages = 7
    with pytest.raises(SimulatedKill):
        await world.sync()
    await world.sync()
    assert world.mirror.items.keys() == ids


async def test_a_long_history_has_pages_and_a_thread_in_several_is_fetched_once(world: World) -> None:
    await world.sync()
    thread, _ = world.mail.deliver("a")
    for number in range(600):
        world.mail.deliver(f"Re: {number}", thread=thread)
    calls = await world.sync()
    assert calls.count("history.list") == 2
    assert calls.count("threads.get") == 1


async def test_the_newest_come_first(world: World) -> None:
    ids = [world.mail.deliver(f"{number}")[0] for number in range(10)]
    world.mirror.document_limit = 3
    await world.sync()
    assert world.mirror.items.keys() == set(ids[-3:])


@pytest.mark.parametrize(("status", "reason"), [(403, "userRateLimitExceeded"), (429, "rateLimitExceeded")])
async def test_too_many_requests_are_waited_for_and_end_the_run_if_they_last(
    world: World, status: int, reason: str
) -> None:
    thread, _ = world.mail.deliver("a")
    world.mail.fail(error_response(status, reason), "users.threads.get", times=2)
    await world.sync()
    assert world.mirror.items.keys() == {thread}
    world.mail.fail(error_response(status, reason), "users.history.list", times=50)
    with pytest.raises(RateLimitedError):
        await world.sync()


async def test_a_thread_that_can_not_be_had_now_is_tried_in_the_next_run(world: World) -> None:
    thread, _ = world.mail.deliver("a")
    world.mail.fail(error_response(500, "backendError"), "users.threads.get", times=5)
    await world.sync()
    assert world.mirror.failures[thread].retryable
    await world.sync()
    assert world.mirror.items.keys() == {thread}


async def test_who_has_to_act_is_told(world: World) -> None:
    world.mail.fail(error_response(400, "failedPrecondition", "Mail service not enabled"), "users.getProfile")
    with pytest.raises(PlanRequiredError):
        await world.sync()
    world.mail.fail(error_response(403, "insufficientPermissions"), "users.getProfile")
    with pytest.raises(AuthExpiredError):
        await world.sync()
    world.mail.accounts.revoke()
    with pytest.raises(AuthExpiredError):
        await world.sync()


async def test_the_picker_shows_labels_a_persons_own_first(world: World) -> None:
    world.mail.label("Projects")
    page = await world.provider.browse(world.connect(), None, "", None)
    assert [entry.name for entry in page.entries] == ["Projects", "Promotions", "Inbox", "Sent"]
    found = await world.provider.browse(world.connect(), None, "proj", None)
    assert [entry.name for entry in found.entries] == ["Projects"]
    ids = [entry.id for entry in found.entries]
    assert await world.provider.resolve_names(world.connect(), "labels", [*ids, "gone"]) == {ids[0]: "Projects"}
    assert (await world.provider.fetch_account(world.connect())).webhook_id == "ada@example.test"


async def _receive(world: World, authorization: str, body: bytes) -> Any:
    headers = {"authorization": authorization}
    return await world.provider.verify_delivery(WebhookDelivery(headers, {}, body, world.mail.now))


async def test_a_push_names_the_mailbox_and_keys_are_fetched_once(world: World) -> None:
    for _ in range(3):
        receipt = await _receive(world, *world.mail.push(address="Ada@Example.test"))
        assert [(hint.target, hint.key) for hint in receipt.hints] == [("account", "ada@example.test")]
        assert receipt.delivery_id
        assert receipt.sent_at == world.mail.now.replace(microsecond=0)
    assert world.certificates == 1


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.test"},
        {"aud": "https://another.test"},
        {"email": "evil@evil.test"},
        {"email_verified": False},
        {"exp": 1},
    ],
)
async def test_a_push_with_other_claims_is_forged(world: World, claims: dict[str, Any]) -> None:
    with pytest.raises(WebhookVerificationError):
        await _receive(world, *world.mail.push(**claims))


@pytest.mark.parametrize("authorization", ["", "Bearer x", "Bearer a.b.c", "Basic eA==", "Bearer e30.e30."])
async def test_a_push_without_a_good_token_is_forged(world: World, authorization: str) -> None:
    with pytest.raises(WebhookVerificationError):
        await _receive(world, authorization, world.mail.push()[1])


async def test_a_push_signed_by_somebody_else_is_forged(world: World) -> None:
    with pytest.raises(WebhookVerificationError):
        await _receive(world, *GmailDouble().push())
    with pytest.raises(WebhookVerificationError):
        await _receive(world, world.mail.push()[0], b'{"message": {"data": "e30="}}')


async def test_new_keys_of_google_are_fetched_but_not_for_every_unknown_one(world: World) -> None:
    await _receive(world, *world.mail.push())
    for _ in range(5):
        with pytest.raises(WebhookVerificationError):
            await _receive(world, *world.mail.push(kid="unknown"))
    assert world.certificates == 1
    world.clock.advance(120)
    with pytest.raises(WebhookVerificationError):
        await _receive(world, *world.mail.push(kid="unknown"))
    assert world.certificates == 2


async def test_the_watch_is_asked_for_again(world: World) -> None:
    label = world.mail.label("Projects")
    at = world.connect([label])
    ours = await world.provider.subscribe(at, "", "secret", None)
    assert ours is not None
    assert world.mail.watches == [{"topicName": TOPIC, "labelIds": [label], "labelFilterBehavior": "include"}]
    world.clock.advance(25 * 3600)
    world.mail.now = world.clock.now()
    again = await world.provider.subscribe(at, "", "secret", ours)
    assert again is not None
    assert again.expires_at == world.clock.now() + timedelta(days=7)
    await world.provider.unsubscribe(at, again)
    assert not world.mail.watches


async def test_without_a_topic_there_are_no_pushes(world: World) -> None:
    client = GoogleOAuthClient("the-client", "the-client-secret", world.mail.address)
    provider = Gmail(client, clock=world.clock)
    assert not provider.supports_webhooks
    assert await provider.subscribe(world.connect(), "", "secret", None) is None
    with pytest.raises(WebhookVerificationError):
        await provider.verify_delivery(WebhookDelivery({}, {}, b"", world.mail.now))
