"""Exports of ChatGPT, Claude, Slack, Discord and WhatsApp, in the shapes that these systems write."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.importers.chatgpt import read_chatgpt
from app.importers.claude import read_claude
from app.importers.discord import read_discord
from app.importers.imported_item import ImportedItem, LeftOut, Reader, SourceError
from app.importers.slack import read_slack
from app.importers.whatsapp import read_whatsapp

FIRST, LATER = "2024-05-01T21:15:00", "2024-05-13T21:16:00"
FIRST_SECONDS, LATER_SECONDS = "2024-05-01T21:15:07", "2024-05-13T21:16:08"


def read(reader: Reader, source: Path) -> tuple[list[ImportedItem], list[LeftOut]]:
    """Read a source to its end."""
    items = list(reader(source))
    return (
        [item for item in items if isinstance(item, ImportedItem)],
        [item for item in items if isinstance(item, LeftOut)],
    )


def zipped(path: Path, **files: object) -> Path:
    """Write a zip archive; a name's `__` stands for `/`."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            archive.writestr(name.replace("__", "/"), text)
    return path


def node(
    name: str, parent: str | None, role: str, *parts: Any, at: float = 1714566600.5, **message: Any
) -> dict[str, Any]:
    content = {"content_type": "text", "parts": list(parts)}
    body = {"id": name, "author": {"role": role}, "create_time": at, "content": content, "recipient": "all", **message}
    return {"id": name, "parent": parent, "children": [], "message": body}


def conversation(*nodes: dict[str, Any], current: str) -> dict[str, Any]:
    root = {"id": "root", "parent": None, "children": [nodes[0]["id"]], "message": None}
    mapping = {each["id"]: each for each in (root, *nodes)}
    about = {"title": "Trip", "create_time": 1714566600.1, "conversation_id": "c1", "current_node": current}
    return about | {"mapping": mapping}


def test_chatgpt_keeps_the_branch_that_was_shown_with_roles_and_days(tmp_path: Path) -> None:
    talk = conversation(
        node("s", "root", "system", ""),
        node("u1", "s", "user", "I moved to Lisbon."),
        node("a-old", "u1", "assistant", "Discarded answer."),
        node("a1", "u1", "assistant", "How nice!"),
        node("t", "a1", "tool", "search results"),
        node("u2", "t", "user", "My dog is called Rex.", at=1714653000),
        current="u2",
    )
    items, left_out = read(
        read_chatgpt, zipped(tmp_path / "export.zip", **{"conversations.json": [talk], "user.json": {}})
    )
    assert [(item.id, item.content, item.date) for item in items] == [
        ("chatgpt:c1:2024-05-01", "user: I moved to Lisbon.\nassistant: How nice!", "2024-05-01T12:30:00.500000+00:00"),
        ("chatgpt:c1:2024-05-02", "user: My dog is called Rex.", "2024-05-02T12:30:00+00:00"),
    ]
    assert items[0].metadata == {"source": "chatgpt", "conversation": "c1", "title": "Trip"}
    assert left_out == [LeftOut("c1, 1 messages", "branches that were edited or regenerated")]


def test_chatgpt_reads_speech_reports_images_and_leaves_the_hidden_out(tmp_path: Path) -> None:
    hidden: dict[str, Any] = {"metadata": {"is_visually_hidden_from_conversation": True}}
    talk = conversation(
        node("h", "root", "user", "Profile text", **hidden),
        node(
            "u",
            "h",
            "user",
            {"content_type": "audio_transcription", "text": "I play chess."},
            {"content_type": "image_asset_pointer"},
        ),
        node("c", "u", "assistant", "search('chess')", recipient="browser"),
        current="c",
    )
    items, left_out = read(read_chatgpt, zipped(tmp_path / "export.zip", **{"conversations-000.json": [talk]}))
    assert [item.content for item in items] == ["user: I play chess."]
    assert left_out == [LeftOut("c1", "an image is not in conversations.json as text")]


def test_chatgpt_survives_null_fields_loops_and_foreign_records(tmp_path: Path) -> None:
    loop = conversation(node("a", "b", "user", "Round"), node("b", "a", "user", None), current="a")
    file = tmp_path / "conversations.json"
    nameless = conversation(node("a", "root", "user", "x"), current="a") | {"conversation_id": None}
    file.write_text(json.dumps([None, "text", {"mapping": None}, nameless, loop]))
    items, left_out = read(read_chatgpt, file)
    assert [item.content for item in items] == ["user: Round"]
    assert len(left_out) == 4


def test_claude_keeps_order_names_and_reports_attachments(tmp_path: Path) -> None:
    talk = {
        "uuid": "k1",
        "name": "Plans",
        "created_at": "2025-02-01T10:00:00.000000Z",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "I am allergic to nuts.",
                "content": [{"type": "text", "text": "I am allergic to nuts."}],
                "created_at": "2025-02-01T10:00:01Z",
                "attachments": [{"file_name": "list.txt", "extracted_content": "x"}],
                "files": [],
            },
            {"uuid": "m2", "sender": "assistant", "text": "Noted.", "content": None, "created_at": None},
            {"uuid": "m3", "sender": None, "text": "?"},
            None,
        ],
    }
    archive = zipped(tmp_path / "data.zip", **{"conversations.json": [talk, {"uuid": "k2"}], "projects.json": []})
    items, left_out = read(read_claude, archive)
    assert [(item.id, item.content, item.date) for item in items] == [
        ("claude:k1:2025-02-01", "user: I am allergic to nuts.\nassistant: Noted.", "2025-02-01T10:00:01Z"),
    ]
    assert [left.item for left in left_out] == ["projects.json", "k1: list.txt", "k1", "k1", "k2"]


def test_slack_names_people_and_keeps_threads_apart(tmp_path: Path) -> None:
    users = [
        {"id": "U1", "name": "ann", "profile": {"display_name": "Ann", "real_name": "Ann Lee"}},
        {"id": "U2", "name": "bob"},
    ]
    day = [
        {"type": "message", "user": "U1", "text": "Ask <@U2> &amp; go to <#C2|ops>", "ts": "1714566600.000100"},
        {"type": "message", "user": "U2", "text": "Who fixes it?", "ts": "1714566700.1", "thread_ts": "1714566700.1"},
        {
            "type": "message",
            "user": "U9",
            "user_profile": {"real_name": "Cy"},
            "text": "Me",
            "ts": "1714566800",
            "thread_ts": "1714566700.1",
        },
        {"type": "message", "subtype": "channel_join", "user": "U1", "text": "joined", "ts": "1714566900"},
        {"type": "message", "user": "U1", "text": "", "ts": "1714567000", "files": [{"name": "plan.pdf"}]},
        None,
    ]
    archive = zipped(
        tmp_path / "slack.zip",
        **{"users.json": users, "channels.json": [{"id": "C1", "name": "general"}], "general/2024-05-01.json": day},
    )
    items, left_out = read(read_slack, archive)
    assert [(item.id, item.content) for item in items] == [
        ("slack:C1:2024-05-01", "Ann: Ask @bob & go to #ops"),
        ("slack:C1:1714566700.1:2024-05-01", "bob: Who fixes it?\nCy: Me"),
    ]
    assert items[1].metadata == {"source": "slack", "channel": "general", "thread": "1714566700.1"}
    assert [left.reason for left in left_out] == [
        "a notice of Slack itself (channel_join)",
        "a file that was shared",
        "it is not a message",
    ]


def test_discord_reads_a_channel_by_days(tmp_path: Path) -> None:
    author = {"id": "1", "name": "ann", "nickname": "Ann"}
    export = {
        "guild": {"id": "9", "name": "Guild"},
        "channel": {"id": "77", "type": "GuildTextChat", "category": "Text", "name": "general", "topic": None},
        "messages": [
            {
                "id": "1",
                "type": "Default",
                "timestamp": "2024-05-01T10:00:00.1+00:00",
                "content": "Hi",
                "author": author,
                "attachments": [],
            },
            {
                "id": "2",
                "type": "GuildMemberJoin",
                "timestamp": "2024-05-01T10:01:00+00:00",
                "content": "",
                "author": author,
            },
            {
                "id": "3",
                "type": "Reply",
                "timestamp": "2024-05-02T10:00:00+00:00",
                "content": "Yo",
                "author": None,
                "attachments": [{"fileName": "a.png"}],
            },
        ],
        "messageCount": 3,
    }
    file = tmp_path / "general.json"
    file.write_text(json.dumps(export))
    items, left_out = read(read_discord, file)
    assert [(item.id, item.content) for item in items] == [
        ("discord:77:2024-05-01", "Ann: Hi"),
        ("discord:77:2024-05-02", "someone: Yo"),
    ]
    assert items[0].metadata == {"source": "discord", "channel": "general", "server": "Guild", "category": "Text"}
    assert len(left_out) == 2


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("5/1/24, 9:15\u202fPM - Ann: Hi\nthere\n5/13/24, 9:16\u202fPM - Bob: Yo", [FIRST, LATER]),
        ("01/05/2024, 21:15 - Ann: Hi\nthere\n13/05/2024, 21:16 - Bob: Yo", [FIRST, LATER]),
        ("[01.05.24, 21:15:07] Ann: Hi\nthere\n[13.05.24, 21:16:08] Bob: Yo", [FIRST_SECONDS, LATER_SECONDS]),
        ("[1.5.2024 klo 21.15.07] Ann: Hi\nthere\n[13.5.2024 klo 21.16.08] Bob: Yo", [FIRST_SECONDS, LATER_SECONDS]),
        ("2024/5/1 下午9:15 - Ann: Hi\nthere\n2024/5/13 下午9:16 - Bob: Yo", [FIRST, LATER]),
        ("2024. 5. 1. 오후 9:15 - Ann: Hi\nthere\n2024. 5. 13. 오후 9:16 - Bob: Yo", [FIRST, LATER]),
        ("[2024-05-01, 9:15:07 p.m.] Ann: Hi\nthere\n[2024-05-13, 9:16:08 PM] Bob: Yo", [FIRST_SECONDS, LATER_SECONDS]),
        ("2024년 5월 1일 오후 9:15, Ann : Hi\nthere\n2024년 5월 13일 오후 9:16, Bob : Yo", [FIRST, LATER]),
        ("١\u200f/٥\u200f/٢٠٢٤، ٩:١٥ م - Ann: Hi\nthere\n١٣\u200f/٥\u200f/٢٠٢٤، ٩:١٦ م - Bob: Yo", [FIRST, LATER]),  # noqa: RUF001 - digits as Arabic writes them
        ("1/5/24, 9:15 μ.μ. - Ann: Hi\nthere\n13/5/24, 9:16 μ.μ. - Bob: Yo", [FIRST, LATER]),
        ("1.05.2024 \u0433., 21:15 - Ann: Hi\nthere\n13.05.2024 \u0433., 21:16 - Bob: Yo", [FIRST, LATER]),
        ("1.05.2024 ÖS 9:15 - Ann: Hi\nthere\n13.05.2024 ÖS 9:16 - Bob: Yo", [FIRST, LATER]),
        # Neither number is above 12: only the month first lets the chat run forward.
        ("1/5/24, 21:15 - Ann: Hi\nthere\n2/3/24, 21:16 - Bob: Yo", ["2024-01-05T21:15:00", "2024-02-03T21:16:00"]),
    ],
)  # fmt: skip
def test_whatsapp_dates_of_many_languages(tmp_path: Path, lines: str, expected: list[str]) -> None:
    chat = tmp_path / "WhatsApp Chat with Ann.txt"
    chat.write_text(lines, encoding="utf-8")
    items, left_out = read(read_whatsapp, chat)
    assert [item.date for item in items] == expected
    assert items[0].content == "Ann: Hi\nthere"
    assert items[0].metadata == {"source": "whatsapp", "chat": "Ann"}
    assert left_out == []


def test_whatsapp_leaves_media_and_notices_out(tmp_path: Path) -> None:
    lines = [
        "\u200e[01/05/2024, 21:15:07] Family: \u200eMessages and calls are end-to-end encrypted.",
        "[01/05/2024, 21:15:09] ~\u202fAnn: \u200e<attached: 00000012-PHOTO.jpg>",
        "[01/05/2024, 21:15:10] Ann: Lunch: at one",
        "[13/05/2024, 21:15:11] Ann added Bob",
        "13/05/2024, 21:16 - Bob: <Media omitted>",
        "13/05/2024, 21:17 - Bob: IMG-20240513-WA0001.jpg (file attached)",
    ]
    archive = zipped(
        tmp_path / "WhatsApp Chat - Family.zip", **{"_chat.txt": "\n".join(lines), "00000012-PHOTO.jpg": ""}
    )
    items, left_out = read(read_whatsapp, archive)
    assert [item.content for item in items] == ["Ann: Lunch: at one"]
    assert items[0].metadata["chat"] == "Family"
    assert len(left_out) == 6


def test_whatsapp_keeps_chats_apart_and_takes_no_shared_text_for_one(tmp_path: Path) -> None:
    said = "[01/05/2024, 21:15:10] {0}: Lunch"
    files = {f"{name}/_chat.txt": said.format(name) for name in ("Ann", "Bob")}
    shared = {"Ann/00000012-todo.txt": "Milk", "Ann/00000013-log.txt": said.format("X")}
    hidden = {"__MACOSX/Ann/._chat.txt": "\x00"}
    items, left_out = read(read_whatsapp, zipped(tmp_path / "chats.zip", **files, **shared, **hidden))
    assert [(item.content, item.metadata["chat"]) for item in items] == [("Ann: Lunch", "Ann"), ("Bob: Lunch", "Bob")]
    assert len({item.id for item in items}) == 2
    assert [left.item for left in left_out] == list(shared)
    android = {"WhatsApp Chat with Ann.txt": said.format("Ann"), "todo.txt": "Milk"}
    items, left_out = read(read_whatsapp, zipped(tmp_path / "android.zip", **android))
    assert [item.content for item in items] == ["Ann: Lunch"]
    assert [left.item for left in left_out] == ["todo.txt"]


def test_a_day_in_several_files_has_an_id_for_each_piece(tmp_path: Path) -> None:
    def spoken(text: str) -> dict[str, Any]:
        return {"type": "message", "ts": "1714609800.1", "text": text, "user": "U1"}  # 2024-05-02 in UTC

    days = {f"general/2024-05-0{day}.json": [spoken(f"Day {day}")] for day in (1, 2)}
    slack, _ = read(read_slack, zipped(tmp_path / "slack.zip", **days))
    parts = {
        f"general [part {part}].json": {
            "channel": {"id": "77"},
            "messages": [{"id": part, "timestamp": "2024-05-02T10:00:00+00:00", "content": f"Part {part}"}],
        }
        for part in (1, 2)
    }
    discord, _ = read(read_discord, zipped(tmp_path / "discord.zip", **parts))
    for items, place in ((slack, "slack:general"), (discord, "discord:77")):
        assert [item.id for item in items] == [f"{place}:2024-05-02", f"{place}:2024-05-02:2"]


@pytest.mark.parametrize("reader", [read_chatgpt, read_claude, read_slack, read_discord, read_whatsapp])
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"PK\x03\x04 no archive", id="damaged archive"),
        pytest.param(b"\xff\xfe\x00 no text", id="bytes"),
        pytest.param(b'{"other": 1}', id="other JSON"),
    ],
)
@pytest.mark.parametrize("name", ["export.zip", "conversations.json", "chat.txt"])
def test_a_wrong_file_is_named(tmp_path: Path, reader: Reader, content: bytes, name: str) -> None:
    source = tmp_path / name
    source.write_bytes(content)
    with pytest.raises(SourceError, match=str(name)):
        list(reader(source))


ODD_VALUES: tuple[Any, ...] = (0, 1e300, "x", [], ["x"], {}, {"x": [None]}, True, None)


def odd_versions(value: Any) -> Iterator[Any]:
    """Yield an export with each of its values in turn replaced by one that no reader expects there."""
    yield from ODD_VALUES
    places: list[Any] = []
    if isinstance(value, dict | list):
        places = list(value) if isinstance(value, dict) else list(range(len(value)))
    for place in places:
        for odd in odd_versions(value[place]):
            changed = value.copy()
            changed[place] = odd
            yield changed


EXPORTS: list[tuple[Reader, str, Any]] = [
    (
        read_chatgpt,
        "conversations.json",
        conversation(node("u", "root", "user", "I moved.", {"text": "Yes"}, metadata={}), current="u"),
    ),
    (
        read_claude,
        "conversations.json",
        {
            "uuid": "k",
            "chat_messages": [{"sender": "human", "content": [{"type": "text", "text": "Hi"}], "files": [{}]}],
        },
    ),
    (
        read_slack,
        "general/2024-05-01.json",
        {"type": "message", "user": "U1", "user_profile": {"real_name": "Cy"}, "text": "Me", "ts": "1", "files": [{}]},
    ),
]


@pytest.mark.parametrize(("reader", "name", "record"), EXPORTS)
def test_a_record_with_a_value_of_another_type_is_read_or_left_out(
    tmp_path: Path, reader: Reader, name: str, record: Any
) -> None:
    records = [*odd_versions(record), record]
    items, _ = read(reader, zipped(tmp_path / "export.zip", **{name: records}))
    assert items


def test_a_discord_channel_with_values_of_other_types_is_read(tmp_path: Path) -> None:
    message = {"id": "1", "type": "Default", "content": "Hi", "author": {"name": "ann"}, "attachments": [{}]}
    export = {"guild": "x", "channel": {"id": "77"}, "messages": [*odd_versions(message), message]}
    items, _ = read(read_discord, zipped(tmp_path / "export.zip", **{"general.json": export}))
    assert items


@pytest.mark.parametrize("reader", [read_chatgpt, read_claude, read_slack, read_discord, read_whatsapp])
def test_an_archive_of_something_else_is_named(tmp_path: Path, reader: Reader) -> None:
    with pytest.raises(SourceError, match=r"other\.zip"):
        list(reader(zipped(tmp_path / "other.zip", **{"readme.md": "no export"})))


@pytest.mark.parametrize("reader", [read_chatgpt, read_claude, read_slack, read_discord, read_whatsapp])
def test_an_archive_with_damaged_names_is_named(tmp_path: Path, reader: Reader) -> None:
    archive = zipped(tmp_path / "export.zip", **{"ü.json": "[]"})
    archive.write_bytes(archive.read_bytes().replace("ü".encode(), b"\xc3\xff"))
    with pytest.raises(SourceError, match=r"export\.zip can't be unpacked"):
        list(reader(archive))


def test_a_file_that_ends_in_the_middle_gives_what_came_before(tmp_path: Path) -> None:
    whole = json.dumps(
        [
            conversation(node("u", "root", "user", f"Fact {n}"), current="u") | {"conversation_id": f"c{n}"}
            for n in range(9)
        ]
    )
    file = tmp_path / "conversations.json"
    file.write_text(whole[: len(whole) - 40])
    contents: list[str] = []
    with pytest.raises(SourceError, match="ends in the middle, after 8 records"):
        contents.extend(item.content for item in read_chatgpt(file) if isinstance(item, ImportedItem))
    assert contents == [f"user: Fact {number}" for number in range(8)]


def test_a_damaged_file_of_several_keeps_no_other_out(tmp_path: Path) -> None:
    def day(*texts: str) -> str:
        return json.dumps([{"type": "message", "ts": "1714567800.1", "text": text, "user": "U1"} for text in texts])

    days = {"2024-05-01": day("First", "Second")[:-30], "2024-05-02": day("Third")}
    for name, content in days.items():
        file = tmp_path / "export" / "general" / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    items, left_out = read(read_slack, tmp_path / "export")
    assert [item.content for item in items] == ["U1: First", "U1: Third"]
    ((name, reason),) = [(found.item, found.reason) for found in left_out]
    assert name == "general/2024-05-01.json"
    assert "after 1 records" in reason


def test_the_messages_before_the_damage_of_a_channel_are_read(tmp_path: Path) -> None:
    messages = [{"id": number, "timestamp": "2024-05-01T10:00:00Z", "content": f"Part {number}"} for number in (1, 2)]
    file = tmp_path / "general.json"
    file.write_text(json.dumps({"channel": {"id": "77"}, "messages": messages})[:-20])
    contents: list[str] = []
    with pytest.raises(SourceError, match="ends in the middle"):
        contents.extend(item.content for item in read_discord(file) if isinstance(item, ImportedItem))
    assert contents == ["someone: Part 1"]


def test_json_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    chat = conversation(node("u", "root", "user", "Marked"), current="u") | {"conversation_id": "c"}
    file.write_text(json.dumps([chat]), encoding="utf-8-sig")
    items, _ = read(read_chatgpt, file)
    assert [item.content for item in items] == ["user: Marked"]
