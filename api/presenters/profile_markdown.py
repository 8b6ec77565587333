"""Markdown rendering of a profile."""

from collections.abc import Sequence

from schemas.http.v5.profile_bodies import Profile, ProfileFact


def render_profile(namespace: str, profile: Profile) -> str:
    """Render static facts, dynamic facts and every bucket as sections, without empty ones."""
    named = [(_section_title(name), facts) for name, facts in profile.buckets.items()]
    sections = [("What lasts", profile.static), ("What is going on", profile.dynamic), *named]
    parts = [
        f"# Profile of {namespace}",
        *(_render_section(title, facts) for title, facts in sections if facts),
    ]
    if len(parts) == 1:
        parts.append("Nothing is known yet.")
    return "\n\n".join(parts) + "\n"


def _render_section(title: str, facts: Sequence[ProfileFact]) -> str:
    return "\n".join([f"## {title}", "", *(f"- {' '.join(fact.memory.split())}" for fact in facts)])


def _section_title(bucket: str) -> str:
    words = bucket.replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:]
