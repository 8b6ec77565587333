"""Granola's public API as its reference describes it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

from tests.connectors.doubles.double import Answer, Call, Double, run
from tests.connectors.doubles.judge import Judge

API = "https://public-api.granola.ai"


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Folder:
    id: str
    name: str
    parent: str | None


@dataclass
class Note:
    id: str
    title: str | None
    summary: str
    at: datetime
    changed: datetime
    folders: list[str] = field(default_factory=list)
    said: list[tuple[str, str]] = field(default_factory=list)
    """(source or name, text)."""
    finished: bool = True


class GranolaDouble(Double):
    """Notes and folders of one key."""

    def __init__(self) -> None:
        super().__init__(Judge("granola", errors="Error"))
        self.numbers = count(1)
        self.keys = {"grn_good"}
        self.notes: dict[str, Note] = {}
        self.folders: dict[str, Folder] = {}

    def note(self, title: str | None, summary: str = "", *, folders: list[Folder] | None = None) -> Note:
        at = self.tick()
        made = Note(self._id("not"), title, summary, at, at, [folder.id for folder in folders or []])
        self.notes[made.id] = made
        return made

    def folder(self, name: str, parent: Folder | None = None) -> Folder:
        made = Folder(self._id("fol"), name, parent.id if parent else None)
        self.folders[made.id] = made
        return made

    def edit(self, note: Note, **changes: Any) -> None:
        for name, value in changes.items():
            setattr(note, name, value)
        note.changed = self.tick()

    def _id(self, kind: str) -> str:
        return f"{kind}_{next(self.numbers):014d}"

    def handle(self, call: Call) -> Answer:
        if call.headers.get("authorization", "").removeprefix("Bearer ") not in self.keys:
            return Answer(401, {"message": "Unauthorized - Invalid API key"})
        answers: dict[str, Callable[[Call], Answer]] = {
            "listNotes": self._list,
            "getNote": self._get,
            "listFolders": self._list_folders,
        }
        return answers[call.operation.id](call)

    def _list(self, call: Call) -> Answer:
        within = self._within(call.query.get("folder_id"))
        told = call.query.get("updated_after")
        after = datetime.fromisoformat(told) if told else datetime.min.replace(tzinfo=UTC)
        found = [
            note
            for note in self.notes.values()
            if note.finished and note.changed > after and (within is None or within & set(note.folders))
        ]
        found.sort(key=lambda note: note.at, reverse=True)
        return self._page(call, "notes", found, self._summary)

    def _within(self, folder: str | None) -> set[str] | None:
        """A folder and those within it."""
        if folder is None:
            return None
        inside = {folder}
        for one in self.folders.values():  # a folder is made after its parent
            if one.parent in inside:
                inside.add(one.id)
        return inside

    def _get(self, call: Call) -> Answer:
        note = self.notes.get(call.at["note_id"])
        if note is None or not note.finished:
            return Answer(404, {"message": "Not found"})
        member = [{"id": id_, "object": "folder", "name": self.folders[id_].name} for id_ in note.folders]
        said = None
        if call.query.get("include") == "transcript":
            said = [self._utterance(who, text, note.at) for who, text in note.said]
        whole = self.judge.whole(
            "Note", **self._summary(note), summary_text=note.summary, summary_markdown=note.summary,
            web_url=f"https://notes.granola.ai/d/{note.id}", folder_membership=member, transcript=said,
            attendees=[{"name": "Bob", "email": "bob@octo.test"}],
        )  # fmt: skip
        return Answer(200, {**whole, "calendar_event": None})

    def _utterance(self, who: str, text: str, at: datetime) -> dict[str, Any]:
        source = (
            {"source": who}
            if who in {"microphone", "speaker"}
            else {"source": "speaker", "diarization_label": who}
        )
        return {"speaker": source, "text": text, "start_time": _time(at), "end_time": _time(at)}

    def _summary(self, note: Note) -> dict[str, Any]:
        return {
            "id": note.id,
            "object": "note",
            "title": note.title,
            "owner": {"name": "Ada", "email": "ada@octo.test"},
            "created_at": _time(note.at),
            "updated_at": _time(note.changed),
        }

    def _list_folders(self, call: Call) -> Answer:
        found = sorted(self.folders.values(), key=lambda folder: folder.name)
        return self._page(
            call,
            "folders",
            found,
            lambda one: {"id": one.id, "object": "folder", "name": one.name, "parent_folder_id": one.parent},
        )

    def _page(
        self, call: Call, name: str, found: list[Any], describe: Callable[[Any], dict[str, Any]]
    ) -> Answer:
        begin, size = int(call.query.get("cursor", 0)), int(call.query.get("page_size", 10))
        more = begin + size < len(found)
        part = [describe(one) for one in found[begin : begin + size]]
        return Answer(200, {name: part, "hasMore": more, "cursor": str(begin + size) if more else None})


def demo(granola: GranolaDouble) -> GranolaDouble:
    """A small world for the demonstration."""
    note = granola.note("Weekly", "- The coffee machine is **ordered**.", folders=[granola.folder("Team")])
    note.said = [("microphone", "Did it arrive?"), ("speaker", "On Monday.")]
    return granola


if __name__ == "__main__":
    run(demo(GranolaDouble()), sys.argv[1:])
