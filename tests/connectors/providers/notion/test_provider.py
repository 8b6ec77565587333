"""Notion: minutes, a search that misses pages, pages that are cut short, and its own Markdown."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from connectors.errors import AuthExpiredError, WebhookVerificationError
from connectors.provider_interface import ChangeHint, WebhookDelivery
from connectors.providers.notion.provider import Notion
from connectors.sync_messages import SourceItem
from tests.connectors.provider_contract import ConnectorContract, DeliveryRequest, SourceDriver
from tests.support.connectors.in_memory_sync import UNLIMITED_RATE
from tests.support.connectors.provider_harness import FixedTokenSource, ProviderHarness
from tests.support.providers.notion_double import ADA, WORKSPACE, NodeDouble, NotionDouble, rich_text
from tests.support.providers.provider_double import DoubleResponse

pytestmark = pytest.mark.anyio


@pytest.fixture
def notion() -> Iterator[NotionDouble]:
    double = NotionDouble()
    yield double
    double.assert_no_violations()


@pytest.fixture
def wiki(notion: NotionDouble) -> NodeDouble:
    return notion.page("Wiki", "How **we** work.")


@pytest.fixture
def bench(notion: NotionDouble, wiki: NodeDouble) -> ProviderHarness:
    return ProviderHarness(
        Notion("client", "hush", webhook_secret="v3rify"), notion, access=FixedTokenSource("ntn_good")
    )


async def _settled(bench: ProviderHarness, notion: NotionDouble) -> None:
    """Run until what was edited just now is settled."""
    await bench.run()
    notion.advance_clock()
    await bench.run()


async def test_everything_is_read_at_first(bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble) -> None:
    child = notion.page("Leave", "30 days.", wiki.id)
    await bench.run()
    assert bench.items.keys() == {wiki.id, child.id}
    item = bench.items[child.id]
    assert item.text == "# Leave\n\n30 days.\n"
    assert item.title == "Leave"
    assert item.metadata["path"] == "Wiki / Leave"
    assert item.metadata["author"] == "Ada"
    assert str(item.url).startswith("https://www.notion.so/")


async def test_nothing_changed_costs_two_requests(bench: ProviderHarness, notion: NotionDouble) -> None:
    await _settled(bench, notion)
    notion.drain_operation_ids()
    steps = await bench.run()
    assert notion.drain_operation_ids() == ["search", "search"]
    assert not [step for step in steps if isinstance(step, SourceItem)]


async def test_an_edit_arrives(bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble) -> None:
    await _settled(bench, notion)
    notion.edit(wiki, markdown="Otherwise.", title="Handbook")
    await bench.run()
    assert bench.text(wiki.id) == "# Handbook\n\nOtherwise.\n"


async def test_a_second_edit_within_the_same_minute_arrives(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    await _settled(bench, notion)
    notion.edit(wiki, markdown="One.")
    await bench.run()
    notion.edit(wiki, markdown="Two.", passed=timedelta(seconds=20))
    notion.advance_clock()
    await bench.run()
    assert bench.text(wiki.id) == "# Wiki\n\nTwo.\n"


async def test_what_search_learns_late_arrives(bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble) -> None:
    late = notion.page("Late", "Late.")
    late.missed = True
    notion.edit(wiki, markdown="Newer.", passed=timedelta(minutes=5))
    await bench.run()
    late.missed = False
    await bench.run()
    assert late.id in bench.items


async def test_rows_that_search_misses_come_from_their_data_source(
    bench: ProviderHarness, notion: NotionDouble
) -> None:
    tasks = notion.data_source("Tasks")
    row = notion.page("Order coffee", "", tasks.id)
    row.missed = True
    await bench.run()
    assert bench.items[row.id].metadata["path"] == "Tasks / Order coffee"


async def test_children_that_search_misses_come_from_the_text_of_their_page(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    child = notion.page("Hidden", "Found.", wiki.id)
    child.missed = True
    address = f"https://www.notion.so/{child.id.replace('-', '')}"
    notion.edit(wiki, markdown=f'Before\n<page url="{address}">Hidden</page>\nAfter')
    await bench.run()
    assert child.id in bench.items
    assert bench.text(wiki.id) == f"# Wiki\n\nBefore\n[Hidden]({address})\nAfter\n"


async def test_a_known_page_that_search_misses_stays(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    await bench.run()
    wiki.missed = True
    await bench.run(complete=True)
    assert wiki.id in bench.items


async def test_a_page_in_the_trash_goes_with_what_is_in_it(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    notion.page("Inner", "x", notion.page("Child", "x", wiki.id).id)
    other = notion.page("Other", "x")
    await _settled(bench, notion)
    notion.trash(wiki)
    await bench.run()
    assert bench.items.keys() == {other.id}


async def test_a_page_that_is_not_shared_any_more_goes_with_a_complete_run(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    await bench.run()
    del notion.nodes[wiki.id]
    await bench.run(complete=True)
    assert not bench.items


async def test_only_what_stands_in_the_selection_is_read(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    tasks = notion.data_source("Tasks", wiki.id)
    row = notion.page("Row", "x", tasks.id)
    toggle = notion.block(wiki.id)
    within = notion.page("In a toggle", "x", toggle.id)
    notion.page("Elsewhere", "x")
    bench.selection = {"folders": [wiki.id.replace("-", "")]}
    await bench.run()
    assert bench.items.keys() == {wiki.id, row.id, within.id}


async def test_a_page_that_moves_out_of_the_selection_goes(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    child = notion.page("Child", "x", wiki.id)
    bench.selection = {"folders": [wiki.id]}
    await _settled(bench, notion)
    notion.edit(child, place="")
    await bench.run()
    assert bench.items.keys() == {wiki.id}


async def test_a_long_page_is_put_together_from_its_parts(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    first, second = notion._id(), notion._id()
    unknown = f'<unknown url="https://www.notion.so/x#{first.replace("-", "")}" alt="toggle"/>'
    notion.edit(wiki, markdown=f"Begin\n{unknown}\nEnd", parts={first: "Middle", second: "Loose"})
    await bench.run()
    assert bench.text(wiki.id) == "# Wiki\n\nBegin\nMiddle\nEnd\n\nLoose\n"


async def test_a_part_that_is_not_shared_is_left_out(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    notion.edit(wiki, markdown='Begin\n<unknown url="https://www.notion.so/x" alt="bookmark"/>\nEnd', parts={})
    wiki.parts = {notion._id(): ""}
    await bench.run()
    assert bench.text(wiki.id) == "# Wiki\n\nBegin\n\nEnd\n"


async def test_of_a_page_over_the_limit_the_beginning_is_kept_and_the_rest_reported(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    """Notion ends a page at its limit of blocks, and may name none of those that are missing."""
    other = notion.page("Other", "Text.")
    notion.edit(wiki, markdown="Begin")
    cut = {"object": "page_markdown", "id": wiki.id, "markdown": "Begin", "truncated": True, "unknown_block_ids": []}
    notion.broken_paths[f"/v1/pages/{wiki.id}/markdown"] = DoubleResponse(200, cut)
    await bench.run()
    assert bench.text(wiki.id) == "# Wiki\n\nBegin\n"
    assert other.id in bench.items
    failure = bench.in_memory_sync.failures[wiki.id]
    assert (failure.title, failure.code) == ("Wiki", "truncated")
    notion.edit(wiki, title="Wiki of all")
    await bench.run()
    assert bench.text(wiki.id) == "# Wiki of all\n\nBegin\n"
    assert wiki.id in bench.in_memory_sync.failures
    notion.broken_paths.clear()
    notion.edit(wiki, markdown="Begin and end")
    await _settled(bench, notion)
    assert "Begin and end" in bench.text(wiki.id)
    assert not bench.in_memory_sync.failures


async def test_a_page_that_was_whole_is_not_replaced_by_its_beginning(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    await _settled(bench, notion)
    notion.edit(wiki, markdown="How")
    cut = {"object": "page_markdown", "id": wiki.id, "markdown": "How", "truncated": True, "unknown_block_ids": []}
    notion.broken_paths[f"/v1/pages/{wiki.id}/markdown"] = DoubleResponse(200, cut)
    await _settled(bench, notion)
    assert "How **we** work." in bench.text(wiki.id)
    assert bench.in_memory_sync.failures[wiki.id].retryable


async def test_properties_of_a_row_are_told(bench: ProviderHarness, notion: NotionDouble) -> None:
    status = {"id": "s", "type": "status", "status": {"id": "1", "name": "Done", "color": "green"}}
    due = {"id": "d", "type": "date", "date": {"start": "2026-03-01", "end": None, "time_zone": None}}
    row = notion.page("Coffee", "", notion.data_source("Tasks").id, Status=status, Due=due)
    await bench.run()
    assert bench.text(row.id) == "# Coffee\n\n**Status**: Done  \n**Due**: 2026-03-01"


async def test_people_whom_notion_gives_by_id_only_are_named(bench: ProviderHarness, notion: NotionDouble) -> None:
    user = {"object": "user", "id": ADA}
    owner = {"id": "o", "type": "people", "people": [user], "has_more": False}
    editor = {"id": "e", "type": "last_edited_by", "last_edited_by": user}
    row = notion.page("Coffee", "", notion.data_source("Tasks").id, Owner=owner, Editor=editor)
    await bench.run()
    assert bench.text(row.id) == "# Coffee\n\n**Owner**: Ada  \n**Editor**: Ada"


async def test_files_are_documents_of_their_own(bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble) -> None:
    signed = notion.upload("plan 1.pdf", b"%PDF")
    notion.edit(wiki, markdown=f'See <pdf src="{signed}">The plan</pdf>')
    await bench.run()
    file = bench.items[f"{wiki.id}/files/plan 1.pdf"]
    assert file.file is not None
    assert file.file.data == b"%PDF"
    assert bench.text(wiki.id) == "# Wiki\n\nSee [The plan: plan 1.pdf]\n"
    notion.edit(wiki, markdown=f'Still <pdf src="{notion.signed("plan 1.pdf")}">The plan</pdf>')
    del notion.uploads["plan 1.pdf"]
    await bench.run()
    assert bench.items[file.id] is file
    notion.advance_clock()
    await bench.run(complete=True)
    await bench.run(complete=True)
    assert file.id in bench.items
    notion.edit(wiki, markdown="Gone")
    await bench.run()
    assert file.id not in bench.items


async def test_a_killed_run_goes_on_after_its_last_page(bench: ProviderHarness, notion: NotionDouble) -> None:
    for number in range(250):
        notion.page(f"P{number}", "x")
    notion.advance_clock()
    await bench.run_until_killed(500)
    kept = len(bench.items)
    assert kept >= 100
    rest = [step for step in await bench.run() if isinstance(step, SourceItem)]
    assert kept + len(rest) == 251
    assert len(bench.items) == 251


async def test_it_waits_as_long_as_notion_asks(bench: ProviderHarness, notion: NotionDouble) -> None:
    notion.fail(notion.error(429, "rate_limited", "Slow down", retry_after=11), "search")
    notion.fail(notion.error(529, "service_overload", "Busy", retry_after=17), "getPageMarkdown")
    await bench.run()
    assert max(bench.virtual_sleep.requested_seconds) == pytest.approx(17, abs=1)
    assert sum(bench.virtual_sleep.requested_seconds) >= 28
    assert bench.items


async def test_a_revoked_token_is_the_users_affair(bench: ProviderHarness, notion: NotionDouble) -> None:
    notion.tokens.clear()
    with pytest.raises(AuthExpiredError):
        await bench.run()


async def test_authors_that_may_not_be_read_are_left_out(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    notion.fail(notion.error(403, "restricted_resource", "No user capability"), "getUser")
    await bench.run()
    assert "author" not in bench.items[wiki.id].metadata
    assert bench.in_memory_sync.stored_state[f"user/{ADA}"] == ""


def _delivery(headers: dict[str, str], body: bytes, notion: NotionDouble) -> WebhookDelivery:
    return WebhookDelivery(headers, {}, body, notion.now)


@pytest.mark.parametrize(
    ("kind", "full"), [("page.content_updated", False), ("page.deleted", False), ("page.moved", True)]
)
async def test_an_event_is_a_hint_for_its_workspace(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble, kind: str, full: bool
) -> None:
    receipt = await bench.provider.verify_delivery(_delivery(*notion.delivery(kind, wiki, "v3rify"), notion))
    assert receipt.hints == (ChangeHint("account", WORKSPACE, requires_full_sync=full),)
    assert receipt.delivery_id
    account = await bench.provider.fetch_account(bench.connection())
    assert account is not None
    assert account.webhook_id == WORKSPACE


async def test_a_delivery_with_another_signature_is_forged(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    with pytest.raises(WebhookVerificationError):
        await bench.provider.verify_delivery(_delivery(*notion.delivery("page.created", wiki, "other"), notion))
    token = json.dumps({"verification_token": "secret_x"}).encode()
    with pytest.raises(WebhookVerificationError):
        await bench.provider.verify_delivery(_delivery({}, token, notion))


async def test_the_verification_token_is_handed_on_while_none_is_set(notion: NotionDouble) -> None:
    token = json.dumps({"verification_token": "secret_x"}).encode()
    receipt = await Notion("client", "hush").verify_delivery(_delivery({}, token, notion))
    assert receipt.verification_token == "secret_x"


async def test_the_picker_searches(bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble) -> None:
    for number in range(120):
        notion.page(f"P{number}")
    first = await bench.provider.browse(bench.connection(), None, "", None)
    second = await bench.provider.browse(bench.connection(), None, "", first.next_page_token)
    assert (len(first.entries), len(second.entries), second.next_page_token) == (100, 21, None)
    found = await bench.provider.browse(bench.connection(), None, "wik", None)
    assert [(entry.id, entry.name) for entry in found.entries] == [(wiki.id, "Wiki")]
    assert await bench.provider.resolve_names(bench.connection(), "folders", [wiki.id, ADA]) == {wiki.id: "Wiki"}


class NotionSourceDriver(SourceDriver):
    """Rows of one data source; what moves out stands in the workspace."""

    def __init__(self) -> None:
        self.double = NotionDouble()
        self.consent()
        self.double.secret = ("client", "planted-client-secret")
        self.tasks = self.double.data_source("Tasks")
        self.provider = Notion(*self.double.secret, webhook_secret="v3rify")
        self.provider.rate_limit = UNLIMITED_RATE
        self.selection = {"folders": [self.tasks.id]}
        self.rows: dict[str, NodeDouble] = {}

    def consent(self) -> None:
        self.double.codes.add("a-code")

    def transport(self) -> httpx2.AsyncBaseTransport:
        return httpx2.ASGITransport(self.double)

    async def put(self, key: str, text: str) -> None:
        if key in self.rows:
            self.double.edit(self.rows[key], markdown=text)
        else:
            self.rows[key] = self.double.page(key, text, self.tasks.id)
        self.double.advance_clock()

    async def remove(self, key: str) -> None:
        self.double.trash(self.rows[key])
        self.double.advance_clock()

    async def move_out(self, key: str) -> None:
        self.double.edit(self.rows[key], place="")

    def title(self, key: str) -> str:
        return key

    def call_count(self) -> int:
        return len(self.double.calls)

    def revoke_access(self) -> None:
        self.double.tokens.clear()
        self.double.refresh_tokens.clear()

    def rate_limit_for(self, seconds: int) -> None:
        self.double.fail(self.double.error(429, "rate_limited", "Slow down", retry_after=seconds))

    def delivery(self, connector: str, *, forged: bool = False) -> DeliveryRequest:
        self.double.now = datetime.now(UTC)
        secret = "another" if forged else "v3rify"
        return DeliveryRequest("/webhooks/notion", *self.double.delivery("page.created", self.tasks, secret))

    async def assert_no_violations(self) -> None:
        self.double.assert_no_violations()


class TestContract(ConnectorContract):
    @pytest.fixture
    def source(self) -> NotionSourceDriver:
        return NotionSourceDriver()


@pytest.mark.parametrize("status", [400, 403, 404, 409, 500, 504])
async def test_a_page_whose_text_notion_does_not_hand_out_fails_alone_and_is_asked_for_again(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble, status: int
) -> None:
    other = notion.page("Other", "Text.")
    place = f"{wiki.id}/markdown"
    notion.broken_paths[place] = notion.error(status, "some_code", "Not now.")
    await bench.run()
    assert bench.items.keys() == {other.id}
    failure = bench.in_memory_sync.failures[wiki.id]
    assert failure.retryable
    assert failure.title == "Wiki"
    del notion.broken_paths[place]
    await bench.run()
    assert bench.items.keys() == {other.id, wiki.id}


async def test_a_search_whose_cursor_ended_begins_anew(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    for number in range(150):
        notion.page(f"Page {number}", "Text.")
    message = "The start_cursor provided is invalid: 100"
    notion.fail(notion.error(400, "validation_error", message), "search", successes_before=1)
    await bench.run()
    assert len(bench.items) == 151


@pytest.mark.parametrize("status", [400, 403, 500])
async def test_a_known_page_that_can_not_be_read_keeps_its_document_and_files(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble, status: int
) -> None:
    notion.edit(wiki, markdown=f'<file src="{notion.upload("plan.txt", b"Plan")}"></file>')
    await bench.run()
    before = set(bench.items)
    assert len(before) == 2
    wiki.missed = True
    notion.broken_paths[f"/pages/{wiki.id}"] = notion.error(status, "some_code", "Not now.")
    await bench.run(complete=True)
    assert bench.items.keys() == before
    assert wiki.id in bench.in_memory_sync.failures


async def test_a_page_with_a_null_where_a_value_belongs_fails_alone(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    other = notion.page("Other", "Text.")
    complete = notion._described

    def lacking(node: NodeDouble) -> dict[str, object]:
        return {**complete(node), **({"last_edited_time": None, "parent": None} if node is wiki else {})}

    notion._described = lacking  # type: ignore[method-assign]  # an answer that no description allows
    notion.description.response = lambda *_: None  # type: ignore[method-assign]  # as above
    await bench.run()
    assert bench.items.keys() == {other.id}
    assert bench.in_memory_sync.failures[wiki.id].code == "malformed"


async def test_a_file_that_failed_is_fetched_again_though_its_page_is_unchanged(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    address = notion.upload("plan.txt", b"Plan")
    notion.edit(wiki, markdown=f'<file src="{address}"></file>')
    data = notion.uploads.pop("plan.txt")
    notion.lost_uploads.add("plan.txt")
    await bench.run()
    assert f"{wiki.id}/files/plan.txt" in bench.in_memory_sync.failures
    notion.uploads["plan.txt"] = data
    notion.lost_uploads.clear()
    await bench.run()
    assert f"{wiki.id}/files/plan.txt" in bench.items


async def test_bookmarks_and_embeds_are_fetched_as_blocks(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    bookmark = notion.block(wiki.id, "bookmark", url="https://example.test/post", caption=rich_text("A post"))
    embed = notion.block(wiki.id, "embed", url="https://example.test/map", caption=[])
    page = wiki.id.replace("-", "")
    tags = [
        f'<unknown url="https://app.notion.com/p/{page}#{node.id.replace("-", "")}" alt="{kind}"/>'
        for node, kind in ((bookmark, "bookmark"), (embed, "embed"))
    ]
    notion.edit(wiki, markdown=f"Before\n{tags[0]}\n{tags[1]}\nAfter")
    await bench.run()
    assert bench.text(wiki.id) == (
        "# Wiki\n\nBefore\n[A post](https://example.test/post)\n[https://example.test/map](https://example.test/map)\nAfter\n"
    )


async def test_a_relation_is_followed_past_its_first_values(bench: ProviderHarness, notion: NotionDouble) -> None:
    targets = [notion.page(f"Target {number}") for number in range(120)]
    listed = [{"id": target.id} for target in targets[:25]]
    relation = {"id": "r", "type": "relation", "relation": listed, "has_more": True}
    row = notion.page("Row", "", notion.data_source("Tasks").id, Uses=relation)
    row.related = [target.id for target in targets]
    await bench.run()
    assert "**Uses**: " + ", ".join(f"Target {number}" for number in range(120)) in bench.text(row.id)


async def test_comments_are_part_of_their_page(bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble) -> None:
    notion.comments = {wiki.id: ["Is this so?", "It is."]}
    await bench.run()
    assert bench.text(wiki.id).endswith("\n## Comments\n\n- Ada: Is this so?\n- Ada: It is.\n")


async def test_comments_that_may_not_be_read_are_asked_for_once(bench: ProviderHarness, notion: NotionDouble) -> None:
    for number in range(9):
        notion.page(f"Page {number}")
    await bench.run()
    assert notion.drain_operation_ids().count("listComments") <= 4  # pages are read four at a time


async def test_rows_of_a_database_that_search_misses_come_from_the_text_of_its_page(
    bench: ProviderHarness, notion: NotionDouble, wiki: NodeDouble
) -> None:
    tasks = notion.data_source("Tasks", wiki.id)
    row = notion.page("Order coffee", "", tasks.id)
    tasks.missed = row.missed = True
    database = notion.database_id(tasks).replace("-", "")
    notion.edit(wiki, markdown=f'<database url="https://www.notion.so/{database}">Tasks</database>')
    await bench.run()
    assert row.id in bench.items


async def test_a_data_source_that_can_not_be_listed_fails_and_its_rows_stay(
    bench: ProviderHarness, notion: NotionDouble
) -> None:
    tasks = notion.data_source("Tasks")
    row = notion.page("Order coffee", "", tasks.id)
    row.missed = True
    await bench.run()
    notion.broken_paths[f"{tasks.id}/query"] = notion.error(400, "validation_error", "No.")
    await bench.run(complete=True)
    assert row.id in bench.items
    assert bench.in_memory_sync.failures[f"data_sources/{tasks.id}"].title == "Tasks"
    notion.broken_paths.clear()
    late = notion.page("Order tea", "", tasks.id)
    late.missed = True
    await bench.run()
    assert late.id in bench.items
    assert not bench.in_memory_sync.failures


async def test_an_internal_integration_needs_no_authorization(notion: NotionDouble, wiki: NodeDouble) -> None:
    provider = Notion(None, "", token="ntn_good")
    bench = ProviderHarness(provider, notion)
    await bench.run()
    assert provider.oauth is None
    assert bench.items.keys() == {wiki.id}
