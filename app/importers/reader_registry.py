"""Formats by the name that `recollect import --from` takes."""

from collections.abc import Mapping
from types import MappingProxyType

from app.importers.chatgpt import read_chatgpt
from app.importers.claude import read_claude
from app.importers.discord import read_discord
from app.importers.imported_item import Reader
from app.importers.markdown_folder import read_markdown
from app.importers.mbox import read_mbox
from app.importers.mem0 import read_mem0
from app.importers.slack import read_slack
from app.importers.supermemory import read_supermemory
from app.importers.whatsapp import read_whatsapp
from app.importers.zep import read_zep

READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "chatgpt": read_chatgpt,
        "claude": read_claude,
        "discord": read_discord,
        "markdown": read_markdown,
        "mbox": read_mbox,
        "mem0": read_mem0,
        "obsidian": read_markdown,
        "slack": read_slack,
        "supermemory": read_supermemory,
        "whatsapp": read_whatsapp,
        "zep": read_zep,
    }
)
NAMING_OWNERS = frozenset({"mem0", "supermemory", "zep"})
"""Formats whose items name a user, group or tag: it becomes the namespace where none is given."""
