"""Folder tree of a drive, built from its change feed: selected folders and paths.

A feed lists moved and deleted folders but not their contents; the consequences are derived here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Folder:
    name: str
    parent: str | None


@dataclass(frozen=True, slots=True)
class Shortcut:
    parent: str
    target: str
    is_folder: bool


@dataclass(slots=True)
class FolderTree:
    """Folders and shortcuts by id; `roots` are the selected folders, None if everything is selected."""

    roots: frozenset[str] | None
    folders: dict[str, Folder] = field(default_factory=dict)
    shortcuts: dict[str, Shortcut] = field(default_factory=dict)

    def selected_folders(self) -> set[str]:
        """Return the selected folders, their descendants, and folders that shortcuts inside them point to."""
        if self.roots is None:
            return set(self.folders)
        found = self.descendants(self.roots)
        while targets := self._linked_folders(found) - found:
            found |= self.descendants(targets)
        return found

    def shortcut_targets(self, folders: set[str]) -> set[str]:
        """Return the files that shortcuts in these folders point to; empty if everything is selected anyway."""
        return {
            shortcut.target
            for shortcut in self.shortcuts.values()
            if not shortcut.is_folder and self.roots is not None and shortcut.parent in folders
        }

    def descendants(self, folders: Iterable[str]) -> set[str]:
        children = self._children()
        found: set[str] = set()
        waiting = [folder for folder in folders if folder in self.folders]
        while waiting:
            folder = waiting.pop()
            if folder not in found:
                found.add(folder)
                waiting += children.get(folder, ())
        return found

    def path(self, folder: str | None) -> str:
        """Return the path of a folder from its outermost known ancestor."""
        names: list[str] = []
        seen: set[str] = set()
        while folder is not None and folder not in seen and (found := self.folders.get(folder)) is not None:
            seen.add(folder)
            names.append(found.name)
            folder = found.parent
        return "/".join(name for name in reversed(names) if name)

    def _linked_folders(self, folders: set[str]) -> set[str]:
        """Return the folders that shortcuts in these folders point to."""
        linked = {s.target for s in self.shortcuts.values() if s.is_folder and s.parent in folders}
        return linked & self.folders.keys()

    def _children(self) -> dict[str, list[str]]:
        children: dict[str, list[str]] = {}
        for id_, folder in self.folders.items():
            if folder.parent is not None:
                children.setdefault(folder.parent, []).append(id_)
        return children
