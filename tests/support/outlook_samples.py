"""Outlook's .msg files, made by code: MAPI properties (MS-OXMSG) in an OLE compound file (MS-CFB)."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

SECTOR, MINI_SECTOR, MINI_CUTOFF = 512, 64, 4096
_END, _FREE, _FAT_SECTOR, _NONE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFF
_EPOCH_SECONDS = 11_644_473_600
Tree: TypeAlias = "dict[str, bytes | Tree]"


@dataclass
class Properties:
    """Properties of a message, recipient or attachment, and the storages inside."""

    header_bytes: int = 32
    texts: Mapping[int, str] = field(default_factory=dict)
    narrow_texts: Mapping[int, bytes] = field(default_factory=dict)
    binaries: Mapping[int, bytes] = field(default_factory=dict)
    integers: Mapping[int, int] = field(default_factory=dict)
    times: Mapping[int, datetime] = field(default_factory=dict)
    storages: "Mapping[str, Properties]" = field(default_factory=dict)
    named_appointment: Sequence[int] = ()

    def tree(self) -> Tree:
        """The storage as streams: one for all short values, one for each other."""
        entries = [struct.pack("<HHII4x", 3, id_, 6, value) for id_, value in self.integers.items()]
        entries += [struct.pack("<HHIQ", 0x40, id_, 6, _ticks(at)) for id_, at in self.times.items()]
        streams: Tree = {"__properties_version1.0": bytes(self.header_bytes) + b"".join(entries)}
        streams |= {_name(id_, 0x1F): text.encode("utf-16-le") for id_, text in self.texts.items()}
        streams |= {_name(id_, 0x1E): text for id_, text in self.narrow_texts.items()}
        streams |= {_name(id_, 0x102): data for id_, data in self.binaries.items()}
        streams |= {name: inside.tree() for name, inside in self.storages.items()}
        if self.named_appointment:
            entries = [struct.pack("<IHH", number, 2 << 1, at) for at, number in enumerate(self.named_appointment)]
            streams["__nameid_version1.0"] = {"__substg1.0_00030102": b"".join(entries)}
        return streams


def recipient(name: str, address: str, kind: int) -> Properties:
    """A recipient: kind 1 is To, 2 Cc."""
    return Properties(8, texts={0x3001: name, 0x39FE: address}, integers={0x0C15: kind})


def attachment(name: str, data: bytes, media_type: str = "") -> Properties:
    """A file."""
    return Properties(8, texts={0x3707: name, 0x370E: media_type}, binaries={0x3701: data}, integers={0x3705: 1})


def attached_message(message: Properties) -> Properties:
    """A mail inside a mail."""
    message.header_bytes = 24
    return Properties(8, integers={0x3705: 5}, storages={"__substg1.0_3701000D": message})


def msg_file(message: Properties) -> bytes:
    """The bytes of a file."""
    return compound_file(message.tree())


def _name(id_: int, kind: int) -> str:
    return f"__substg1.0_{id_:04X}{kind:04X}"


def _ticks(at: datetime) -> int:
    return int((at.timestamp() + _EPOCH_SECONDS) * 10_000_000)


@dataclass
class _Entry:
    name: str
    kind: int
    data: bytes = b""
    child: int = _NONE
    right: int = _NONE
    start: int = _END


def compound_file(tree: Tree) -> bytes:
    """Write streams and storages as a compound file of version 3."""
    entries = [_Entry("Root Entry", 5)]
    entries[0].child = _add(entries, tree)
    sectors: list[bytes] = []
    chains: list[int] = []
    mini, mini_chains = bytearray(), list[int]()
    for entry in entries:
        if entry.kind == 2 and 0 < len(entry.data) < MINI_CUTOFF:
            entry.start = len(mini) // MINI_SECTOR
            mini += _padded(entry.data, MINI_SECTOR)
            mini_chains += _chain(entry.start, len(mini) // MINI_SECTOR)
        elif entry.kind == 2 and entry.data:
            entry.start = _append(sectors, chains, entry.data)
    entries[0].data = bytes(mini)
    entries[0].start = _append(sectors, chains, bytes(mini)) if mini else _END
    mini_fat_sectors = -(-len(mini_chains) * 4 // SECTOR)
    mini_fat = _append(sectors, chains, b"".join(struct.pack("<I", at) for at in mini_chains)) if mini_chains else _END
    directory = _append(sectors, chains, b"".join(map(_directory_entry, entries)))
    fat_sectors = 1
    while (len(sectors) + fat_sectors) * 4 > fat_sectors * SECTOR:
        fat_sectors += 1
    fat_at = len(sectors)
    table = [*chains, *[_FAT_SECTOR] * fat_sectors]
    fat = b"".join(struct.pack("<I", at) for at in table).ljust(fat_sectors * SECTOR, b"\xff")
    header = struct.pack(
        "<8s16xHHHHH6xIIIIIIIII",
        *(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6, 0, fat_sectors, directory, 0, MINI_CUTOFF),
        *(mini_fat, mini_fat_sectors, _END, 0),
    )
    difat = b"".join(struct.pack("<I", fat_at + at) for at in range(fat_sectors)).ljust(109 * 4, b"\xff")
    return header + difat + b"".join(sectors) + fat


def _add(entries: list[_Entry], tree: Tree) -> int:
    """Add the members of a storage, each to the right of the one before; return the first."""
    before: _Entry | None = None
    first = _NONE
    for name, content in sorted(tree.items(), key=lambda member: (len(member[0]), member[0].upper())):
        entry = _Entry(name, 2, content) if isinstance(content, bytes) else _Entry(name, 1)
        entries.append(entry)
        at = len(entries) - 1
        first = at if before is None else first
        if before is not None:
            before.right = at
        before = entry
        if not isinstance(content, bytes):
            entry.child = _add(entries, content)
    return first


def _append(sectors: list[bytes], chains: list[int], data: bytes) -> int:
    start = len(sectors)
    padded = _padded(data, SECTOR)
    sectors += [padded[at : at + SECTOR] for at in range(0, len(padded), SECTOR)]
    chains += _chain(start, len(sectors))
    return start


def _chain(start: int, end: int) -> list[int]:
    return [*range(start + 1, end), _END]


def _padded(data: bytes, size: int) -> bytes:
    return data + bytes(-len(data) % size)


def _directory_entry(entry: _Entry) -> bytes:
    name = entry.name.encode("utf-16-le")
    return struct.pack(
        "<64sHBBIII16xI8x8xIQ",
        *(name, len(name) + 2, entry.kind, 1, _NONE, entry.right, entry.child, 0, entry.start, len(entry.data)),
    )
