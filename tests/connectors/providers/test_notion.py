"""Notion: minutes, a search that misses pages, pages that are cut short, and its own Markdown."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from connectors.errors import AuthExpiredError, ForgedError
from connectors.ports import Delivery, Hint, Item
from connectors.providers.notion import Notion
from tests.connectors.contract import ConnectorContract, Sent, Source
from tests.connectors.doubles.notion import ADA, WORKSPACE, Node, NotionDouble
from tests.connectors.mirror import QUICK
from tests.connectors.providers.bench import Bench, Token

pytestmark = pytest.mark.anyio


@pytest.fixture
def notion() -> Iterator[NotionDouble]:
    double = NotionDouble()
    yield double
    double.settle()


@pytest.fixture
def wiki(notion: NotionDouble) -> Node:
    return notion.page("Wiki", "How **we** work.")


@pytest.fixture
def bench(notion: NotionDouble, wiki: Node) -> Bench:
    return Bench(Notion("client", "hush", webhook_secret="v3rify"), notion, access=Token("ntn_good"))


async def _settled(bench: Bench, notion: NotionDouble) -> None:
    """Run until what was edited just now is settled."""
    await bench.run()
    notion.tick()
    await bench.run()


async def test_everything_is_read_at_first(bench: Bench, notion: NotionDouble, wiki: Node) -> None:
    child = notion.page("Leave", "30 days.", wiki.id)
    await bench.run()
    assert bench.items.keys() == {wiki.id, child.id}
    item = bench.items[child.id]
    assert item.text == "# Leave\n\n30 days.\n"
    assert item.title == "Leave"
    assert item.metadata["path"] == "Wiki / Leave"
    assert item.metadata["author"] == "Ada"
    assert str(item.url).startswith("https://www.notion.so/")


async def test_nothing_changed_costs_two_requests(bench: Bench, notion: NotionDouble) -> None:
    await _settled(bench, notion)
    notion.counted()
    steps = await bench.run()
    assert notion.counted() == ["search", "search"]
    assert not [step for step in steps if isinstance(step, Item)]


async def test_an_edit_arrives(bench: Bench, notion: NotionDouble, wiki: Node) -> None:
    await _settled(bench, notion)
    notion.edit(wiki, markdown="Otherwise.", title="Handbook")
    await bench.run()
    assert bench.text(wiki.id) == "# Handbook\n\nOtherwise.\n"


async def test_a_second_edit_within_the_same_minute_arrives(
    bench: Bench, notion: NotionDouble, wiki: Node
) -> None:
    await _settled(bench, notion)
    notion.edit(wiki, markdown="One.")
    await bench.run()
    notion.edit(wiki, markdown="Two.", passed=timedelta(seconds=20))
    notion.tick()
    await bench.run()
    assert bench.text(wiki.id) == "# Wiki\n\nTwo.\n"


async def test_what_search_learns_late_arrives(bench: Bench, notion: NotionDouble, wiki: Node) -> None:
    late = notion.page("Late", "Late.")
    late.missed = True
    notion.edit(wiki, markdown="Newer.", passed=timedelta(minutes=5))
    await bench.run()
    late.missed = False
    await bench.run()
    assert late.id in bench.items


async def test_rows_that_search_misses_come_from_their_data_source(
    bench: Bench, notion: NotionDouble
) -> None:
    tasks = notion.data_source("Tasks")
    row = notion.page("Order coffee", "", tasks.id)
    row.missed = True
    await bench.run()
    assert bench.items[row.id].metadata["path"] == "Tasks / Order coffee"


async def test_children_that_search_misses_come_from_the_text_of_their_page(
    bench: Bench, notion: NotionDouble, wiki: Node
) -> None:
    child = notion.page("Hidden", "Found.", wiki.id)
    child.missed = True
    address = f"https://www.notion.so/{child.id.replace('-', '')}"
    notion.edit(wiki, markdown=f'Before\n<page url="{address}">Hidden</page>\nAfter')
    await bench.run()
    assert child.id in bench.items
    assert bench.text(wiki.id) == f"# Wiki\n\nBefore\n[Hidden]({address})\nAfter\n"


async def test_a_known_page_that_search_misses_stays(bench: Bench, notion: NotionDouble, wiki: Node) -> None:
    await bench.run()
    wiki.missed = True
    await bench.run(complete=True)
    assert wiki.id in bench.items


async def test_a_page_in_the_trash_goes_with_what_is_in_it(
    bench: Bench, notion: NotionDouble, wiki: Node
) -> None:
    notion.page("Inner", "x", notion.page("Child", "x", wiki.id).id)
    other = notion.page("Other", "x")
    await _settled(bench, notion)
    notion.trash(wiki)
    await bench.run()
    assert bench.items.keys() == {other.id}


async def test_a_page_that_is_not_shared_any_more_goes_with_a_complete_run(
    bench: Bench, notion: NotionDouble, wiki: Node
) -> None:
    await bench.run()
    del notion.nodes[wiki.id]
    await bench.run(complete=True)
    assert not bench.items


async def test_only_what_stands_in_the_selection_is_read(
    bench: Bench, notion: NotionDouble, wiki: Node
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
    bench: Bench, notion: NotionDouble, wiki: Node
) -> None:
    child = notion.page("Child", "x", wiki.id)
    bench.selection = {"folders": [wiki.id]}
    await _settled(bench, notion)
    notion.edit(child, place="")
    await bench.run()
    assert bench.items.keys() == {wiki.id}


async def test_a_long_page_is_put_together_from_its_parts(
    bench: Bench, notion: NotionDouble, wiki: Node
) -> None:
    first, second = notion._id(), notion._id()
    unknown = f'<unknown url="https://www.notion.so/x#{first.replace("-", "")}" alt="toggle"/>'
    notion.edit(wiki, markdown=f"Begin\n{unknown}\nEnd", parts={first: "Middle", second: "Loose"})
    await bench.run()
    assert bench.text(wiki.id) == "# Wiki\n\nBegin\nMiddle\nEnd\n\nLoose\n"


async def test_a_part_that_is_not_shared_is_left_out(bench: Bench, notion: NotionDouble, wiki: Node) -> None:
    notion.edit(
        wiki, markdown='Begin\n<unknown url="https://www.notion.so/x" alt="bookmark"/>\nEnd', parts={}
    )
    wiki.parts = {notion._id(): ""}
    await bench.run()
    assert bench.text(wiki.id) == "# Wiki\n\nBegin\n\nEnd\n"


async def test_properties_of_a_row_are_told(bench: Bench, notion: NotionDouble) -> None:
    status = {"id": "s", "type": "status", "status": {"id": "1", "name": "Done", "color": "green"}}
    due = {"id": "d", "type": "date", "date": {"start": "2026-03-01", "end": None, "time_zone": None}}
    row = notion.page("Coffee", "", notion.data_source("Tasks").id, Status=status, Due=due)
    await bench.run()
    assert bench.text(row.id) == "# Coffee\n\n**Status**: Done  \n**Due**: 2026-03-01"


async def test_files_are_documents_of_their_own(bench: Bench, notion: NotionDouble, wiki: Node) -> None:
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
    notion.tick()
    await bench.run(complete=True)
    await bench.run(complete=True)
    assert file.id in bench.items
    notion.edit(wiki, markdown="Gone")
    await bench.run()
    assert file.id not in bench.items


async def test_a_killed_run_goes_on_after_its_last_page(bench: Bench, notion: NotionDouble) -> None:
    for number in range(250):
        notion.page(f"P{number}", "x")
    notion.tick()
    await bench.killed(500)
    kept = len(bench.items)
    assert kept >= 100
    rest = [step for step in await bench.run() if isinstance(step, Item)]
    assert kept + len(rest) == 251
    assert len(bench.items) == 251


async def test_it_waits_as_long_as_notion_asks(bench: Bench, notion: NotionDouble) -> None:
    notion.fail(notion.error(429, "rate_limited", "Slow down", retry_after=11), "search")
    notion.fail(notion.error(529, "service_overload", "Busy", retry_after=17), "getPageMarkdown")
    await bench.run()
    assert max(bench.patience.waits) == pytest.approx(17, abs=1)
    assert sum(bench.patience.waits) >= 28
    assert bench.items


async def test_a_revoked_token_is_the_users_affair(bench: Bench, notion: NotionDouble) -> None:
    notion.tokens.clear()
    with pytest.raises(AuthExpiredError):
        await bench.run()


async def test_authors_that_may_not_be_read_are_left_out(
    bench: Bench, notion: NotionDouble, wiki: Node
) -> None:
    notion.fail(notion.error(403, "restricted_resource", "No user capability"), "getUser")
    await bench.run()
    assert "author" not in bench.items[wiki.id].metadata
    assert bench.mirror.noted[f"user/{ADA}"] == ""


def _delivery(headers: dict[str, str], body: bytes, notion: NotionDouble) -> Delivery:
    return Delivery("POST", headers, {}, body, notion.now)


@pytest.mark.parametrize(
    ("kind", "full"), [("page.content_updated", False), ("page.deleted", False), ("page.moved", True)]
)
async def test_an_event_is_a_hint_for_its_workspace(
    bench: Bench, notion: NotionDouble, wiki: Node, kind: str, full: bool
) -> None:
    receipt = await bench.provider.receive(_delivery(*notion.delivery(kind, wiki, "v3rify"), notion))
    assert receipt.hints == (Hint("account", WORKSPACE, full=full),)
    assert receipt.id
    account = await bench.provider.account(bench.connection())
    assert account is not None
    assert account.key == WORKSPACE


async def test_a_delivery_with_another_signature_is_forged(
    bench: Bench, notion: NotionDouble, wiki: Node
) -> None:
    with pytest.raises(ForgedError):
        await bench.provider.receive(_delivery(*notion.delivery("page.created", wiki, "other"), notion))
    token = json.dumps({"verification_token": "secret_x"}).encode()
    with pytest.raises(ForgedError):
        await bench.provider.receive(_delivery({}, token, notion))


async def test_the_verification_token_is_handed_on_while_none_is_set(notion: NotionDouble) -> None:
    token = json.dumps({"verification_token": "secret_x"}).encode()
    receipt = await Notion("client", "hush").receive(_delivery({}, token, notion))
    assert receipt.handshake == "secret_x"


async def test_the_picker_searches(bench: Bench, notion: NotionDouble, wiki: Node) -> None:
    for number in range(120):
        notion.page(f"P{number}")
    first = await bench.provider.browse(bench.connection(), None, "", None)
    second = await bench.provider.browse(bench.connection(), None, "", first.next)
    assert (len(first.entries), len(second.entries), second.next) == (100, 21, None)
    found = await bench.provider.browse(bench.connection(), None, "wik", None)
    assert [(entry.id, entry.name) for entry in found.entries] == [(wiki.id, "Wiki")]
    assert await bench.provider.names(bench.connection(), "folders", [wiki.id, ADA]) == {wiki.id: "Wiki"}


class NotionSource(Source):
    """Rows of one data source; what moves out stands in the workspace."""

    def __init__(self) -> None:
        self.double = NotionDouble()
        self.consent()
        self.double.secret = ("client", "planted-client-secret")
        self.tasks = self.double.data_source("Tasks")
        self.provider = Notion(*self.double.secret, webhook_secret="v3rify")
        self.provider.pace = QUICK
        self.selection = {"folders": [self.tasks.id]}
        self.rows: dict[str, Node] = {}

    def consent(self) -> None:
        self.double.codes.add("a-code")

    def transport(self) -> httpx2.AsyncBaseTransport:
        return httpx2.ASGITransport(self.double)

    async def put(self, key: str, text: str) -> None:
        if key in self.rows:
            self.double.edit(self.rows[key], markdown=text)
        else:
            self.rows[key] = self.double.page(key, text, self.tasks.id)
        self.double.tick()

    async def remove(self, key: str) -> None:
        self.double.trash(self.rows[key])
        self.double.tick()

    async def move_out(self, key: str) -> None:
        self.double.edit(self.rows[key], place="")

    def title(self, key: str) -> str:
        return key

    def calls(self) -> int:
        return len(self.double.calls)

    def withdraw(self) -> None:
        self.double.tokens.clear()
        self.double.refresh_tokens.clear()

    def refuse_for(self, seconds: int) -> None:
        self.double.fail(self.double.error(429, "rate_limited", "Slow down", retry_after=seconds))

    def sends(self, connector: str, *, forged: bool = False) -> Sent:
        self.double.now = datetime.now(UTC)
        secret = "another" if forged else "v3rify"
        return Sent("/webhooks/notion", *self.double.delivery("page.created", self.tasks, secret))

    async def settle(self) -> None:
        self.double.settle()


class TestContract(ConnectorContract):
    @pytest.fixture
    def source(self) -> NotionSource:
        return NotionSource()
