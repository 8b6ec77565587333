"""A profile as a Markdown document."""

from collections.abc import Sequence

from schemas.http.profile import Profile, ProfileFact


def profile_markdown(namespace: str, profile: Profile) -> str:
    """One section each for what lasts, what is recent, and every bucket; empty ones are left out."""
    sections = [("What lasts", profile.static), ("Recently", profile.dynamic), *profile.buckets.items()]
    parts = [f"# Profile of {namespace}", *(_section(title, facts) for title, facts in sections if facts)]
    if len(parts) == 1:
        parts.append("Nothing is known yet.")
    return "\n\n".join(parts) + "\n"


def _section(title: str, facts: Sequence[ProfileFact]) -> str:
    return "\n".join([f"## {title}", "", *(f"- {' '.join(fact.memory.split())}" for fact in facts)])
