"""Profiles: facts about the subject of a namespace, maintained as its memories change."""
