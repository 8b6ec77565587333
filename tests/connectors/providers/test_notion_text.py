"""Notion's Markdown becomes everybody's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.providers.notion_text import dashed, joined, properties, read


@pytest.mark.parametrize(
    ("enhanced", "plain"),
    [
        ('# Title {color="blue"}\nText', "# Title\nText\n"),
        ("<empty-block/>\n<table_of_contents/>\nText", "Text\n"),
        ('<callout icon="💡" color="gray_bg">\n\tMind this.\n</callout>', "Mind this.\n"),
        ("<details>\n<summary>More</summary>\n\tInside\n</details>", "More\n\tInside\n"),
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
    ],
)
def test_tags_become_markdown(enhanced: str, plain: str) -> None:
    assert read(enhanced).markdown == plain


def test_code_stays_as_it_is() -> None:
    code = '```html\n<empty-block/>\n<page url="x">y</page> {color="red"}\n```'
    assert read(f"<empty-block/>\n{code}\n").markdown == f"{code}\n"


def test_only_files_that_are_kept_in_notion_are_attachments() -> None:
    text = read(
        '<file src="https://f.test/s/a.pdf?X-Amz-Expires=1">A</file>\n<pdf src="https://else.test/b.pdf">B</pdf>'
    )
    assert [attachment.name for attachment in text.attachments] == ["a.pdf"]


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    read(text)


@given(st.uuids())
def test_an_id_has_its_dashes(id_: object) -> None:
    assert dashed(str(id_).replace("-", "")) == dashed(str(id_).upper()) == str(id_)


def test_parts_that_have_no_place_come_last() -> None:
    assert joined("Text", {"a": "One", "b": "Two"}) == "Text\n\nOne\n\nTwo"


def test_empty_properties_are_not_told() -> None:
    values = {
        "Empty": {"type": "select", "select": None},
        "Total": {"type": "formula", "formula": {"type": "number", "number": 7}},
        "Id": {"type": "unique_id", "unique_id": {"prefix": "T", "number": 3}},
        "Tags": {"type": "multi_select", "multi_select": [{"name": "a"}, {"name": "b"}]},
        "Done": {"type": "checkbox", "checkbox": False},
        "New": {"type": "invented", "invented": 1},
    }
    assert dict(properties(values)) == {"Total": "7", "Id": "T-3", "Tags": "a, b", "Done": "no"}
