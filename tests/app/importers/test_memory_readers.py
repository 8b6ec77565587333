"""Exports of supermemory, mem0 and Zep; Markdown folders and mbox files."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from app.importers.imported_item import ImportedItem, LeftOut, Reader, SourceError, stable_id, to_metadata, to_namespace
from app.importers.markdown_folder import read_markdown
from app.importers.mbox import read_mbox
from app.importers.mem0 import read_mem0
from app.importers.source_files import source_files
from app.importers.supermemory import read_supermemory
from app.importers.zep import read_zep
from tests.app.importers.test_conversation_readers import read

DOCUMENT = {
    "id": "acxV5LHMEsG2hMSNb4umbn",
    "customId": "doc-1",
    "connectionId": None,
    "containerTags": ["user_1", "project"],
    "content": "Ann keeps bees.",
    "createdAt": "2025-03-01T10:00:00.000Z",
    "metadata": {"kind": "note", "nested": {"deep": 1.5}, "empty": None},
    "status": "done",
    "summary": None,
    "title": "Bees",
    "type": "text",
    "updatedAt": "2025-03-02T10:00:00.000Z",
}
MEMORY = {
    "id": "5b1e",
    "memory": "Likes hiking",
    "hash": "f0",
    "metadata": {"topic": "sport"},
    "categories": ["hobby"],
    "user_id": "alex@example.org",
    "created_at": "2024-07-20T01:30:36.275141-07:00",
    "updated_at": None,
}
POINT = {
    "id": "5b1e",
    "payload": {"data": "Likes hiking", "hash": "f0", "user_id": "alex", "created_at": "2024-07-20T01:30:36-07:00"},
    "vector": [0.1, 0.2],
}


def write(path: Path, value: object) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("export.json", {"memories": [DOCUMENT], "pagination": {"currentPage": 1}}),
        ("export.json", [DOCUMENT]),
        ("export.jsonl", json.dumps(DOCUMENT)),
        ("lines.json", f"{json.dumps(DOCUMENT)}\n\n{json.dumps(DOCUMENT)}"),
    ],
)
def test_documents_of_supermemory(tmp_path: Path, name: str, value: object) -> None:
    items, _ = read(read_supermemory, write(tmp_path / name, value))
    assert (items[0].id, items[0].content, items[0].date) == (
        "supermemory:doc-1",
        "Ann keeps bees.",
        DOCUMENT["createdAt"],
    )
    assert items[0].namespace == "user_1"
    assert items[0].metadata == {
        "source": "supermemory",
        "title": "Bees",
        "containerTags": ["project"],
        "kind": "note",
        "nested.deep": 1.5,
    }


def test_supermemory_leaves_out_what_is_forgotten_replaced_or_without_text(tmp_path: Path) -> None:
    entries: list[Any] = [
        {"id": "m1", "memory": "Ann keeps bees", "isLatest": True, "isForgotten": False, "createdAt": "2025-03-01"},
        {"id": "m2", "memory": "Old", "isLatest": False},
        {"id": "m3", "memory": "Gone", "isForgotten": True},
        {"id": "m4", "title": "Only a title", "content": None, "containerTags": None, "metadata": "x"},
        {"id": None},
        None,
    ]
    items, left_out = read(read_supermemory, write(tmp_path / "export.json", {"memoryEntries": entries}))
    assert [item.content for item in items] == ["Ann keeps bees"]
    assert [left.item for left in left_out] == ["m2", "m3", "m4", "{'id': None}", "None"]


def test_mem0_export(tmp_path: Path) -> None:
    (item,), left_out = read(read_mem0, write(tmp_path / "export.json", {"results": [MEMORY]}))
    assert (item.id, item.content, item.date) == ("mem0:5b1e", "Likes hiking", MEMORY["created_at"])
    assert item.namespace == "alex@example.org"
    assert item.metadata == {
        "categories": ["hobby"],
        "user_id": "alex@example.org",
        "topic": "sport",
        "source": "mem0",
        "created": MEMORY["created_at"],
    }
    assert left_out == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scroll.json", {"result": {"points": [POINT], "next_page_offset": None}, "status": "ok"}),
        ("points.json", {"points": [POINT]}),
        ("points.jsonl", json.dumps(POINT)),
        ("rows.jsonl", json.dumps(POINT | {"payload": json.dumps(POINT["payload"])})),
        (
            "rows.csv",
            'id,vector,payload\n5b1e,"[0.1,0.2]","{}"\n'.format(json.dumps(POINT["payload"]).replace('"', '""')),
        ),
    ],
)
def test_dumps_of_the_stores_below_mem0(tmp_path: Path, name: str, value: object) -> None:
    (item,), left_out = read(read_mem0, write(tmp_path / name, value))
    assert (item.id, item.content, item.namespace) == ("mem0:5b1e", "Likes hiking", "alex")
    assert "vector" not in item.metadata
    assert left_out == []


def test_mem0_reports_rows_without_text_or_id(tmp_path: Path) -> None:
    rows = [{"id": 1, "memory": None}, {"memory": "no id"}, [], {"id": 2, "payload": "{broken"}]
    items, left_out = read(read_mem0, write(tmp_path / "export.json", rows))
    assert items == []
    assert len(left_out) == 4


def test_zep_episodes_facts_and_messages(tmp_path: Path) -> None:
    episodes = [
        {
            "uuid": "e1",
            "name": "Chat",
            "content": "Ann: I sold the car",
            "source": "message",
            "group_id": "g1",
            "valid_at": "2025-01-02T00:00:00Z",
            "created_at": "2025-02-01T00:00:00Z",
        },
        {"uuid": "f1", "fact": "Ann owns a car", "group_id": "g1", "invalid_at": "2025-01-02T00:00:00Z"},
        {"uuid": None},
    ]
    items, left_out = read(read_zep, write(tmp_path / "episodes.json", {"episodes": episodes}))
    assert [(item.id, item.date, item.namespace) for item in items] == [("zep:e1", "2025-01-02T00:00:00Z", "g1")]
    assert left_out[0].reason == "a fact that is no longer true"
    messages = [
        {"uuid": "1", "role": "Ann", "role_type": "user", "content": "I moved.", "created_at": "2025-01-02T10:00:00Z"},
        {"uuid": "2", "role": "assistant", "content": "Where to?", "created_at": "2025-01-02T10:00:01Z"},
        {"uuid": "3", "role": "user", "content": None, "created_at": None},
    ]
    thread = {"session_id": "s1", "user_id": "ann", "messages": messages}
    (item,), _ = read(read_zep, write(tmp_path / "thread.json", thread))
    assert (item.id, item.content) == ("zep:s1:2025-01-02", "Ann: I moved.\nassistant: Where to?")
    assert item.namespace == "ann"


def test_threads_of_zep_that_alternate_lose_no_piece(tmp_path: Path) -> None:
    rows = [{"role": "user", "content": f"Said {n}", "session_id": s} for n, s in enumerate(["s1", "s2", "s1"])]
    write(tmp_path / "page-1.json", {"messages": rows})
    write(tmp_path / "page-2.json", {"messages": rows[:1]})
    items, _ = read(read_zep, tmp_path)
    assert [item.id for item in items] == ["zep:s1", "zep:s2", "zep:s1:2", "zep:s1:3"]


def test_pages_of_zep_4_are_read_by_graph_and_thread(tmp_path: Path) -> None:
    """As the models of zep-cloud 4.0.1 print them."""
    episode = {"uuid": "e1", "content": "Ann sold the car", "source": "text", "role": None, "graph_uuid": "g1"}
    episode |= {"created_at": "2026-10-01T00:00:00Z", "reference_time": "2025-01-02T00:00:00Z"}
    edges = [
        {
            "uuid": "f1",
            "name": "OWNS",
            "fact": "Ann owns a boat",
            "graph_uuid": "g1",
            "valid_at": "2025-03-01T00:00:00Z",
        },
        {
            "uuid": "f2",
            "name": "OWNS",
            "fact": "Ann owns a car",
            "graph_uuid": "g1",
            "invalid_at": "2025-01-02T00:00:00Z",
        },
    ]
    for name, rows in {"episodes": [episode], "edges": edges}.items():
        write(tmp_path / f"{name}.json", {"items": rows, "next_cursor": None})
    items, left_out = read(read_zep, tmp_path)
    assert {(item.id, item.date, item.namespace) for item in items} == {
        ("zep:e1", "2025-01-02T00:00:00Z", "g1"),
        ("zep:f1", "2025-03-01T00:00:00Z", "g1"),
    }
    assert [one.reason for one in left_out] == ["a fact that is no longer true"]
    message = {"uuid": "m1", "role": "user", "name": "Ann", "content": "I moved.", "thread_uuid": "t1"}
    page = {"items": [message | {"reference_time": "2025-01-02T10:00:00Z"}], "next_cursor": None}
    (item,), _ = read(read_zep, write(tmp_path / "thread.json", page))
    assert (item.id, item.content) == ("zep:t1:2025-01-02", "Ann: I moved.")


def test_every_list_of_a_saved_search_in_zep_is_read(tmp_path: Path) -> None:
    found = {"edges": [{"uuid": "f1", "fact": "Ann owns a car"}], "episodes": [{"uuid": "e1", "content": "Ann: Hi"}]}
    items, _ = read(read_zep, write(tmp_path / "search.json", found))
    assert [item.id for item in items] == ["zep:f1", "zep:e1"]


@pytest.mark.parametrize(
    ("written", "date"),
    [
        ("20240501", "2024-05-01"),
        ("202405011230", "2024-05-01T12:30:00"),
        ("'20240501123059'", "2024-05-01T12:30:59"),
        ("2024", "2024-01-01"),
        ("²", None),
        ("20241399", None),
        ("1.5", None),
    ],
)
def test_numbers_in_notes_are_dates_not_unix_time(tmp_path: Path, written: str, date: str | None) -> None:
    note = write(tmp_path / "Bees.md", f"---\ndate: {written}\n---\nThey returned.")
    os.utime(note, (1714566600, 1714566600))
    ((item,), _) = read(read_markdown, note)
    assert item.date == (date or "2024-05-01T12:30:00+00:00")


def test_metadata_without_characters_that_no_request_can_carry() -> None:
    said = to_metadata({"a\ud800": "b\ud800", "c": ["d\ud800"], "e": False, "f": ""})
    assert said == {"a?": "b?", "c": ["d?"], "e": False}


@pytest.mark.parametrize("huge", ["9" * 400, "Infinity", "NaN", f'"{"9" * 400}"'])
def test_a_number_that_is_no_time_is_no_date(tmp_path: Path, huge: str) -> None:
    lines = f'{{"id": 1, "memory": "Ann owns a boat", "created_at": {huge}, "metadata": {{"n": {huge}}}}}\n' * 2
    (item, _), left_out = read(read_mem0, write(tmp_path / "memories.jsonl", lines))
    assert (item.date, left_out) == (None, [])
    assert item.metadata.keys() - {"n"} == {"source"}


def test_a_message_of_zep_with_roles_of_other_types_is_read(tmp_path: Path) -> None:
    message = {"content": "I moved.", "thread_uuid": "t1"}
    roles: list[dict[str, Any]] = [{"role": {}}, {"role": ["x"]}, {"role": None, "role_type": []}]
    (item,), _ = read(read_zep, write(tmp_path / "thread.json", {"items": [message | role for role in roles]}))
    assert item.content.count("I moved.") == 3


@pytest.mark.parametrize("content", ["id,memory\n1,Zürich\n", "id,Zürich\n1,memory\n"])
def test_a_table_of_another_charset_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "export.csv"
    file.write_bytes(content.encode("cp1252"))
    with pytest.raises(SourceError, match="not in UTF-8"):
        read(read_mem0, file)


def test_notes_keep_front_matter_and_the_dates_of_their_files(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Daily").mkdir()
    write(vault / ".obsidian" / "app.json", {})
    fields = 'tags:\n  - bees\n  - "wild flowers"\nrating: 4.5\ndone: true\ncreated: 2024-05-01\nlink: [[Garden]]\n???'
    front = f"---\n{fields}\n---\n"
    write(vault / "Daily" / "Bees.md", f"{front}# Bees\n\nThey returned.")
    plain = write(vault / "Plain.md", "No front matter\n---\nno: field\n---\n")
    os.utime(plain, (1714566600, 1714566600))
    (vault / "photo.png").write_bytes(b"")
    write(vault / "Empty.md", "---\na: b\n---\n")
    (bees, note), left_out = read(read_markdown, vault)
    assert (bees.content, bees.date) == ("# Bees\n\nThey returned.", "2024-05-01")
    assert bees.metadata == {
        "source": "markdown",
        "path": "Daily/Bees.md",
        "title": "Bees",
        "tags": ["bees", "wild flowers"],
        "rating": 4.5,
        "done": True,
        "created": "2024-05-01",
        "link": "[[Garden]]",
    }
    assert note.date == "2024-05-01T12:30:00+00:00"
    assert note.content.startswith("No front matter")
    assert [left.item for left in left_out] == ["Daily/Bees.md: ???", "markdown:Empty.md", "photo.png"]


MAILS = b"""From ann@example.org Wed May  1 12:30:00 2024
Message-ID: <one@example.org>
From: Ann <ann@example.org>
Subject: =?utf-8?q?Caf=C3=A9?=
Date: Wed, 1 May 2024 12:30:00 +0200
X-Gmail-Labels: Inbox,Travel
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain; charset=utf-8

See you there.
>From the station.
--b
Content-Type: application/pdf
Content-Disposition: attachment; filename=plan.pdf

x
--b--

From bob@example.org Thu May  2 12:30:00 2024
From: bob@example.org
Date: nonsense

Second
"""


def test_mails_of_an_mbox_file(tmp_path: Path) -> None:
    box = tmp_path / "All mail.mbox"
    box.write_bytes(MAILS)
    (first, second), left_out = read(read_mbox, box)
    assert (first.id, first.date) == ("mbox:one@example.org", "2024-05-01T12:30:00+02:00")
    assert "See you there." in first.content
    assert first.metadata == {
        "source": "mbox",
        "title": "Café",
        "from": "Ann <ann@example.org>",
        "labels": ["Inbox", "Travel"],
    }
    assert second.date is None
    assert left_out == [LeftOut("one@example.org: plan.pdf", "a file attached to a mail")]


@pytest.mark.parametrize("reader", [read_supermemory, read_mem0, read_zep, read_mbox])
@pytest.mark.parametrize("content", [b"", b"{", b'{"other": 1}', b"\xff\xfe\x00", b"From nobody but JSON"])
def test_a_wrong_file_is_named(tmp_path: Path, reader: Reader, content: bytes) -> None:
    source = tmp_path / "export.json"
    source.write_bytes(content)
    if reader is read_mbox and content.startswith(b"From "):
        return
    with pytest.raises(SourceError, match=r"export\.json"):
        list(reader(source))


def test_a_damaged_line_is_left_out_by_name_and_those_after_it_are_read(tmp_path: Path) -> None:
    lines = [json.dumps(MEMORY), json.dumps(MEMORY)[:30], json.dumps(MEMORY | {"id": "later"})]
    first, damaged, later = read_mem0(write(tmp_path / "export.jsonl", "\n".join(lines)))
    assert isinstance(damaged, LeftOut)
    assert damaged.item.startswith("line 2 of export.jsonl, which is no JSON")
    assert [item.id for item in (first, later) if isinstance(item, ImportedItem)] == [
        stable_id("mem0", MEMORY["id"]),
        "mem0:later",
    ]


def test_a_link_to_another_folder_is_named_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "secret.md").write_text("Not mine.")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "own.md").write_text("Mine.")
    (notes / "linked").symlink_to(tmp_path / "else", target_is_directory=True)
    items, left_out = read(read_markdown, notes)
    assert [item.content for item in items] == ["Mine."]
    assert left_out == [LeftOut("linked", "it is a link to another folder")]


def test_a_link_out_of_the_folder_of_an_export_is_refused(tmp_path: Path) -> None:
    """An export is unpacked, not linked: a link in one that somebody sent could name any file of this machine."""
    export = tmp_path / "export"
    export.mkdir()
    (tmp_path / "secret.json").write_text("[]")
    (export / "conversations.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(SourceError, match=r"conversations\.json is a link to a file outside"), source_files(export):
        pass


def test_links_out_of_a_folder_of_notes_are_left_out(tmp_path: Path) -> None:
    vault, secret = tmp_path / "vault", tmp_path / "secret.md"
    vault.mkdir()
    secret.write_text("The code is 4711.")
    (vault / "Bees.md").write_text("Ann keeps bees.")
    (vault / "Link.md").symlink_to(secret)
    (vault / "Same.md").symlink_to(vault / "Bees.md")
    items, left_out = read(read_markdown, vault)
    assert [item.content for item in items] == ["Ann keeps bees.", "Ann keeps bees."]
    assert [entry.item for entry in left_out] == ["Link.md"]


def test_notes_in_other_encodings_keep_their_letters(tmp_path: Path) -> None:
    (tmp_path / "latin.md").write_bytes("Café au lait".encode("cp1252"))
    (tmp_path / "wide.md").write_bytes("Crème brûlée".encode("utf-16"))
    (tmp_path / "none.md").write_bytes(b"\x00\x01")
    items = list(read_markdown(tmp_path))
    assert {item.content for item in items if isinstance(item, ImportedItem)} == {"Café au lait", "Crème brûlée"}
    assert [item.item for item in items if isinstance(item, LeftOut)] == ["none.md"]


def test_ids_are_stable_and_fit_a_path() -> None:
    assert stable_id("slack", "C1", "2024-05-01") == "slack:C1:2024-05-01"
    strange = stable_id("markdown", "Ordner/Tagebücher/…" * 50)
    assert len(strange) < 60
    assert strange == stable_id("markdown", "Ordner/Tagebücher/…" * 50)
    assert len(to_namespace("ä" * 300)) <= 100
    assert to_namespace("a@b") != to_namespace("a b")
