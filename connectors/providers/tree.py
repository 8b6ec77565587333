"""Folders as a drive's feed of changes tells of them: which of them are selected, and the paths to them.

A feed says that a folder moved or went, never what that means for what is inside: that is worked out here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder: its name, and the id of the folder it is in."""

    name: str
    parent: str | None


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A file that stands for another file or folder."""

    parent: str
    target: str
    folder: bool


@dataclass(slots=True)
class Tree:
    """`roots` are the folders that were selected; None: everything is."""

    roots: frozenset[str] | None
    folders: dict[str, Folder] = field(default_factory=dict)
    shortcuts: dict[str, Shortcut] = field(default_factory=dict)

    def scope(self) -> set[str]:
        """Every folder that is selected, is inside one that is, or is what a shortcut in there leads to."""
        if self.roots is None:
            return set(self.folders)
        children = self._children()
        found: set[str] = set()
        waiting = [root for root in self.roots if root in self.folders]
        while waiting:
            while waiting:
                folder = waiting.pop()
                if folder not in found:
                    found.add(folder)
                    waiting += children.get(folder, ())
            waiting = [
                shortcut.target
                for shortcut in self.shortcuts.values()
                if shortcut.folder
                and shortcut.parent in found
                and shortcut.target in self.folders
                and shortcut.target not in found
            ]
        return found

    def targets(self, scope: set[str]) -> set[str]:
        """The files that shortcuts in selected folders stand for. (Where all is selected, they are found.)"""
        return {
            shortcut.target
            for shortcut in self.shortcuts.values()
            if not shortcut.folder and self.roots is not None and shortcut.parent in scope
        }

    def below(self, folders: Iterable[str]) -> set[str]:
        """These folders and all that are inside them."""
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
        """The names down to a folder, from the outermost that is known."""
        names: list[str] = []
        seen: set[str] = set()
        while folder is not None and folder not in seen and (found := self.folders.get(folder)) is not None:
            seen.add(folder)
            names.append(found.name)
            folder = found.parent
        return "/".join(name for name in reversed(names) if name)

    def _children(self) -> dict[str, list[str]]:
        children: dict[str, list[str]] = {}
        for id_, folder in self.folders.items():
            if folder.parent is not None:
                children.setdefault(folder.parent, []).append(id_)
        return children
