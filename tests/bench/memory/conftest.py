"""A conversation to be remembered."""

import json
from pathlib import Path

import pytest

from bench.memory.conversations import Conversation, conversations


@pytest.fixture
def talk(tmp_path: Path) -> Conversation:
    """A conversation of one session, as the collection writes it."""
    turns = [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "Hi! I live in Rome."},
        {"speaker": "Bob", "dia_id": "D1:2", "text": "I like tea.", "blip_caption": "a photo of a cup"},
    ]
    conversation = {
        "sample_id": "talk",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_1": turns,
            "session_1_date_time": "1:56 pm on 8 May, 2023",
        },
        "observation": {
            "session_1_observation": {
                "Ann": [["Ann lives in Rome", "D1:1"], ["Ann likes tea", "D1:1"]],
                "Bob": [["Bob likes tea", "D1:1"]],
            }
        },
        "qa": [
            {"question": "Where does Ann live?", "evidence": ["D1:1"], "category": 4},
            {"question": "What about it?", "evidence": [], "category": 4},
        ],
    }
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([conversation]))
    return conversations(path)[0]
