"""The memory graph, in a real Chromium."""

import pytest

from tests.support.chromium import needs_chromium
from tests.support.console_user import NARROW, WIDE, ConsoleUser

pytestmark = [pytest.mark.anyio, needs_chromium]


async def test_the_graph_shows_names_and_leads_to_their_memories(visitor: ConsoleUser) -> None:
    text = "I live in Bergen. My sister Nora works in Bergen. Nora plays the cello."
    await visitor.ok("POST", "/ns/drawn/document", {"content": text, "id": "said", "dreaming": "instant"})
    await visitor.service.wait_until_idle()
    await visitor.open_signed_in("#/ns/drawn/graph")
    await visitor.browser.wait_until("return document.querySelectorAll('.canvas canvas').length > 0")
    await visitor.enter("Find in the graph", "bergen")
    assert await visitor.accessibility_violations() == []
    await visitor.browser.set_viewport(*NARROW)
    assert await visitor.horizontal_overflow() == 0
    await visitor.browser.set_viewport(*WIDE)
    await visitor.press("People, places and things")
    await visitor.press("Bergen")
    await visitor.wait_for_text("about “Bergen”, most similar first")


_PLACE_LABELS = """
const { src } = document.querySelector("script[type=module]");
const { placeLabels } = await import(new URL("./parts/graph-labels.js", src));
const items = Array.from({ length: 400 }, (_, at) => ({
  x: 100 + ((at * 97) % 600), y: 40 + ((at * 61) % 520), radius: 5, isName: at < 100, width: 60 + (at * 7) % 90 }));
return placeLabels(items, 800, 600).map(({ item, x, y }) => [items.indexOf(item), x, y, x + item.width, y + 16]);
"""


async def test_labels_of_a_crowded_graph_never_overlap_and_the_most_important_one_is_shown(
    visitor: ConsoleUser,
) -> None:
    await visitor.open_signed_in("#/")
    labels = await visitor.browser.execute(_PLACE_LABELS)
    assert labels[0][0] == 0
    assert 20 < len(labels) < 400
    boxes = [box for _, *box in labels]
    for at, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:at]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top


_MOVE_SLIDER = """
const slider = document.querySelector("input[type=range]");
slider.value = 100;
slider.dispatchEvent(new Event("input"));
return document.querySelectorAll(".canvas > .sketch").length;
"""


async def test_the_graph_is_a_sketch_while_the_slider_moves_and_drawn_when_it_rests(visitor: ConsoleUser) -> None:
    text = "I live in Bergen. My sister Nora works in Bergen."
    await visitor.ok("POST", "/ns/slid/document", {"content": text, "dreaming": "instant"})
    await visitor.service.wait_until_idle()
    await visitor.open_signed_in("#/ns/slid/graph")
    await visitor.browser.wait_until("return document.querySelectorAll('.canvas canvas').length > 0")
    assert await visitor.browser.execute(_MOVE_SLIDER) == 1
    await visitor.browser.wait_until("return document.querySelector('.sketch') === null")


async def test_an_empty_namespace_says_when_there_will_be_a_graph(visitor: ConsoleUser) -> None:
    await visitor.open_signed_in("#/ns/nothing-yet/graph")
    await visitor.wait_for_text("The graph is drawn as soon as")
