"""Notion's Markdown becomes everybody's."""

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.providers.notion.content import PageText, property_lines
from connectors.providers.notion.enhanced_markdown import Names, dashed_id, insert_blocks


@pytest.mark.parametrize(
    ("enhanced", "plain"),
    [
        ('# Title {color="blue"}\nText', "# Title\nText\n"),
        ("<empty-block/>\n<table_of_contents/>\nText", "Text\n"),
        ('<callout icon="💡" color="gray_bg">\n\tMind this.\n</callout>', "Mind this.\n"),
        (
            '::: callout {icon="💡" color="blue_bg"}\nMind this.\n\tAnd that.\n:::\nAfter',
            "Mind this.\nAnd that.\n\nAfter\n",
        ),
        ("Above\n:::\n```\n::: callout\n:::\n```", "Above\n:::\n```\n::: callout\n:::\n```\n"),
        ("<details>\n<summary>More</summary>\n\tInside\n</details>", "More\nInside\n"),
        ('<mention-user url="user://1">Ada</mention-user> said', "Ada said\n"),
        ('on <mention-date start="2026-01-02" end="2026-01-04"/>', "on 2026-01-02 to 2026-01-04\n"),
        ('<mention-page url="https://n.so/1">Plan</mention-page>', "[Plan](https://n.so/1)\n"),
        ('<database url="https://n.so/2" inline="false">Tasks</database>', "[Tasks](https://n.so/2)\n"),
        ("![A cat](https://f.test/a/cat.png?X-Amz-Expires=1&b=2)", "![A cat](https://f.test/a/cat.png)\n"),
        ('<file src="https://f.test/a/my%20plan.pdf?X-Amz-Expires=1"></file>', "[my plan.pdf]\n"),
        (
            "<table>\n<tr>\n<td>A</td>\n<td>B|C</td>\n</tr>\n<tr>\n<td>1</td>\n</tr>\n</table>",
            "| A | B\\|C |\n| --- | --- |\n| 1 |  |\n",
        ),
        ('<unknown url="https://n.so/1#2" alt="bookmark"/>', ""),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2\n"),
        # Forms of the guide on enhanced Markdown, and of pages that were read.
        (
            'See <mention-page url="https://n.so/1"/> first, then <mention-page url="https://n.so/2">Plan</mention-page>',
            "See [Untitled](https://n.so/1) first, then [Plan](https://n.so/2)\n",
        ),
        (
            'a <mention-page url="https://n.so/1"> b <mention-page url="https://n.so/2">P</mention-page> c',
            "a [Untitled](https://n.so/1) b [P](https://n.so/2) c\n",
        ),
        ('<mention-user url="user://1"/> said', "somebody said\n"),
        ('<mention-database url="https://n.so/3"/>', "[Untitled](https://n.so/3)\n"),
        (
            '<mention-date start="2026-01-02" startTime="15:00" timeZone="Europe/Berlin"/>',
            "2026-01-02 15:00 (Europe/Berlin)\n",
        ),
        (
            '<mention-date start="2026-01-02" startTime="15:00" end="2026-01-03" endTime="09:30"/>',
            "2026-01-02 15:00 to 2026-01-03 09:30\n",
        ),
        ("<table>\n<tr>\n<td>A<br>B</td>\n<td>C</td>\n</tr>\n</table>", "| A B | C |\n| --- | --- |\n"),
        ("one<br>two", "one\ntwo\n"),
        ("<callout>\n\tMind\n\t- a\n\t\t- b\n\t\t\tText of b\n</callout>", "Mind\n- a\n\t- b\n\t\tText of b\n"),
        (
            "<columns>\n\t<column>\n\t\tLeft\n\t</column>\n\t<column>\n\t\tRight\n\t</column>\n</columns>",
            "Left\n\nRight\n",
        ),
        ('# Heading {toggle="true"}\n\tInside', "# Heading\nInside\n"),
        ("▶ Toggle\n\tInside\n\t\tDeeper", "▶ Toggle\nInside\nDeeper\n"),
        ("- item\n<callout>\n\tNo child of the item\n</callout>", "- item\n\nNo child of the item\n"),
        ("<callout>\n\t```py\n\tx = 1\n\t\ty = 2\n\t```\n</callout>", "```py\nx = 1\n\ty = 2\n```\n"),
        ("`<empty-block/>` and \\<br> stay", "`<empty-block/>` and \\<br> stay\n"),
        ("Costs 5\\$ \\{or\\} more", "Costs 5$ {or} more\n"),
        ("an <em>unknown</em> tag", "an <em>unknown</em> tag\n"),
        ('<audio source="{{https://f.test/a/talk.mp3}}">Talk</audio>', "[Talk: talk.mp3]\n"),
        (
            "<meeting-notes>\n\tSync\n\t<summary>\n\t\tWe agreed.\n\t</summary>\n</meeting-notes>",
            "Sync\n\nWe agreed.\n",
        ),
    ],
)
def test_tags_become_markdown(enhanced: str, plain: str) -> None:
    assert PageText(enhanced).markdown() == plain


def test_code_stays_as_it_is() -> None:
    code = '```html\n<empty-block/>\n<page url="x">y</page> {color="red"}\n```'
    assert PageText(f"<empty-block/>\n{code}\n").markdown() == f"{code}\n"


def test_only_files_that_are_kept_in_notion_are_attachments() -> None:
    text = PageText(
        '<file src="https://f.test/s/a.pdf?X-Amz-Expires=1">A</file>\n<pdf src="https://else.test/b.pdf">B</pdf>'
    )
    assert [attachment.name for attachment in text.attachments] == ["a.pdf"]


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    PageText(text).markdown()


@given(st.uuids())
def test_an_id_has_its_dashes(id_: object) -> None:
    assert dashed_id(str(id_).replace("-", "")) == dashed_id(str(id_).upper()) == str(id_)


def test_parts_that_have_no_place_come_last() -> None:
    assert insert_blocks("Text", {"a": "One", "b": "Two"}) == "Text\n\nOne\n\nTwo"


def test_a_part_stands_at_the_depth_of_its_tag() -> None:
    tag = f'<unknown url="https://app.notion.com/p/{"a" * 32}#{"b" * 32}" alt="bookmark"/>'
    id_ = dashed_id("b" * 32)
    assert insert_blocks(f"- one\n\t{tag}\nend", {id_: "two\nthree"}) == "- one\n\ttwo\n\tthree\nend"


def test_names_replace_ids() -> None:
    text = PageText(
        f'<mention-page url="https://app.notion.com/p/{"1" * 32}"/> by <mention-user url="user://{"2" * 32}"/>'
    )
    page, user = dashed_id("1" * 32), dashed_id("2" * 32)
    assert (text.unnamed_pages, text.unnamed_users) == ([page], [user])
    shown = text.markdown(Names({page: "Plan"}, {user: "Ada"}))
    assert shown == f"[Plan](https://app.notion.com/p/{'1' * 32}) by Ada\n"


@given(
    st.lists(
        st.sampled_from(
            (
                "word ",
                "`",
                "```\n",
                "\n",
                "\t",
                "- ",
                "<callout>",
                "</callout>",
                "<td>",
                "</td>",
                "<table>",
                "</table>",
                "<tr>",
            )
        )
        | st.sampled_from(
            ('<mention-page url="https://n.so/1"/>', '<mention-page url="u">', "</mention-page>", "<br>", '"')
        )
    )
)
def test_no_word_is_lost_whatever_the_tags_are(parts: list[str]) -> None:
    enhanced = "".join(parts)
    assert PageText(enhanced).markdown().count("word") == enhanced.count("word")


@pytest.mark.parametrize(
    "repeated",
    ['<mention-page url="https://n.so/1">x ', "<callout>\n", "`", '<a "', "<table><tr><td>a<br>b</td></tr></table>\n"],
)
def test_the_work_grows_with_the_length_of_a_page_only(repeated: str) -> None:
    steps = [_steps(repeated * (length // len(repeated))) for length in (20_000, 80_000)]
    assert steps[1] < 5 * steps[0]


def _steps(text: str) -> int:
    """Count the lines that are run to convert a text."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        PageText(text).markdown()
    finally:
        sys.settrace(before)
    return count


def test_empty_properties_are_not_told() -> None:
    values = {
        "Empty": {"type": "select", "select": None},
        "Total": {"type": "formula", "formula": {"type": "number", "number": 7}},
        "Id": {"type": "unique_id", "unique_id": {"prefix": "T", "number": 3}},
        "Tags": {"type": "multi_select", "multi_select": [{"name": "a"}, {"name": "b"}]},
        "Done": {"type": "checkbox", "checkbox": False},
        "New": {"type": "invented", "invented": 1},
    }
    assert dict(property_lines(values)) == {"Total": "7", "Id": "T-3", "Tags": "a, b", "Done": "no"}


def test_every_kind_of_property_is_told() -> None:
    user = {"object": "user", "id": "u", "name": "Ada"}
    texts = [{"plain_text": "Text"}]
    values = {
        "Related": {"type": "relation", "relation": [{"id": "p1"}, {"id": "p2"}], "has_more": False},
        "Rolled": {
            "type": "rollup",
            "rollup": {
                "type": "array",
                "array": [
                    {"type": "title", "title": texts},
                    {"type": "number", "number": 3},
                    {"type": "relation", "relation": [{"id": "p1"}]},
                    {"type": "number", "number": None},
                    {"type": "people", "people": [{"object": "user", "id": "e"}]},
                ],
            },
        },
        "Sum": {"type": "rollup", "rollup": {"type": "number", "number": 12}},
        "By": {"type": "created_by", "created_by": user},
        "Edited": {"type": "last_edited_by", "last_edited_by": {"object": "user", "id": "u"}},
        "At": {"type": "created_time", "created_time": "2026-01-02T03:04:00.000Z"},
        "Where": {"type": "place", "place": {"lat": 1.5, "lon": 2.5, "name": "Home", "address": "1 Road"}},
        "Open": {"type": "formula", "formula": {"type": "boolean", "boolean": False}},
        "Span": {"type": "formula", "formula": {"type": "date", "date": {"start": "2026-01-01", "end": "2026-01-02"}}},
        "Null": {"type": "rich_text", "rich_text": None},
    }
    assert dict(property_lines(values, Names({"p1": "Plan"}, {"e": "Eve"}))) == {
        "Related": "Plan, Untitled",
        "Rolled": "Text, 3, Plan, Eve",
        "Sum": "12",
        "By": "Ada",
        "At": "2026-01-02T03:04:00.000Z",
        "Where": "Home, 1 Road",
        "Open": "no",
        "Span": "2026-01-01 to 2026-01-02",
    }
