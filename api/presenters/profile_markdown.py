"""Markdown rendering of a profile."""

import re
from collections.abc import Mapping, Sequence

from schemas.http.v5.profile_bodies import Profile, ProfileFact

_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
"""A day that the fact itself tells."""


def render_profile(namespace: str, profile: Profile, days: Mapping[str, str] | None = None) -> str:
    """Render static facts, dynamic facts and every bucket as sections, without empty ones.

    `days`: by id, the day of which a fact was said; shown unless the fact tells one.
    """
    named = [(_section_title(name), facts) for name, facts in profile.buckets.items()]
    sections = [("What lasts", profile.static), ("What is going on", profile.dynamic), *named]
    parts = [
        f"# Profile of {namespace}",
        *(_render_section(title, facts, days or {}) for title, facts in sections if facts),
    ]
    if len(parts) == 1:
        parts.append("Nothing is known yet.")
    return "\n\n".join(parts) + "\n"


def _render_section(title: str, facts: Sequence[ProfileFact], days: Mapping[str, str]) -> str:
    return "\n".join([f"## {title}", "", *(f"- {_render_fact(fact, days.get(fact.id))}" for fact in facts)])


def _render_fact(fact: ProfileFact, day: str | None) -> str:
    text = " ".join(fact.memory.split())
    return text if day is None or _YEAR.search(text) else f"{text} (as of {day})"


def _section_title(bucket: str) -> str:
    words = bucket.replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:]
