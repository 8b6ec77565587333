"""A profile as a Markdown document."""

from collections.abc import Sequence

from schemas.http.profile import Profile, ProfileFact


def profile_markdown(namespace: str, profile: Profile) -> str:
    """One section each for what lasts, what is going on, and every bucket; empty ones are left out."""
    named = [(_title(name), facts) for name, facts in profile.buckets.items()]
    sections = [("What lasts", profile.static), ("What is going on", profile.dynamic), *named]
    parts = [f"# Profile of {namespace}", *(_section(title, facts) for title, facts in sections if facts)]
    if len(parts) == 1:
        parts.append("Nothing is known yet.")
    return "\n\n".join(parts) + "\n"


def _section(title: str, facts: Sequence[ProfileFact]) -> str:
    return "\n".join([f"## {title}", "", *(f"- {' '.join(fact.memory.split())}" for fact in facts)])


def _title(bucket: str) -> str:
    words = bucket.replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:]
