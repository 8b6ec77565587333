"""Chats whose roles are marked in the text, and texts that only look so."""

import pytest

from pipeline.text.chats.role_markers import marked_messages
from pipeline.text.speaker_attribution import parse_utterances

USER, ASSISTANT = "I live in Leeds.\nIt rains.", "I am a model in Rome."
CHATS = {
    "ChatML": (
        "<|im_start|>system\nI am in Rome.<|im_end|>\n"
        f"<|im_start|>user\n{USER}<|im_end|>\n<|im_start|>assistant\n{ASSISTANT}<|im_end|>\n"
    ),
    "Llama 3": (
        f"<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n{USER}<|eot_id|>"
        f"<|start_header_id|>assistant<|end_header_id|>\n\n{ASSISTANT}<|eot_id|>"
    ),
    "Llama 2": f"<s>[INST] {USER} [/INST] {ASSISTANT} </s>",
    "Phi": f"<|user|>\n{USER}<|end|>\n<|assistant|>\n{ASSISTANT}<|end|>",
    "Gemma": f"<start_of_turn>user\n{USER}<end_of_turn>\n<start_of_turn>model\n{ASSISTANT}<end_of_turn>",
    "tags": f"<user>{USER}</user>\n<assistant>{ASSISTANT}</assistant>",
    "tags with roles": (
        f'<chat>\n<message role="user">{USER}</message>\n<message role="assistant">{ASSISTANT}</message>\n</chat>'
    ),
    "headings": f"# Chat\n\n## User\n{USER}\n\n## Assistant\n{ASSISTANT}",
    "bold names": f"**User:**\n{USER}\n\n**Assistant:**\n{ASSISTANT}",
    "a copied page": f"You said:\n{USER}\nChatGPT said:\n{ASSISTANT}",
    "brackets": f"[user] {USER}\n[assistant] {ASSISTANT}",
    "arrows": f"user > {USER}\nassistant > {ASSISTANT}",
    "YAML": f'- role: user\n  content: "{USER}"\n- role: assistant\n  content: {ASSISTANT}',
}


@pytest.mark.parametrize("chat", CHATS)
def test_a_chat_with_marked_roles_is_what_its_user_says(chat: str) -> None:
    text = CHATS[chat]
    (said,) = parse_utterances(text)
    assert (said.speaker, said.text, said.is_chat) == (None, USER, True)
    assert said.start is not None
    assert text[said.start :].startswith(USER)


def test_a_prompt_without_an_answer_is_its_users() -> None:
    (said,) = parse_utterances("<|im_start|>user\nI live in Leeds.<|im_end|>\n")
    assert said.text == "I live in Leeds."


def test_a_bot_with_a_name_of_its_own_is_an_assistant() -> None:
    said = parse_utterances("mira_k: I live in Leeds.\nHelperBot: I am a model.\nmira_k: I moved to York.\n")
    assert [part.speaker for part in said] == ["mira_k", "mira_k"]


@pytest.mark.parametrize(
    "text",
    [
        "# Roles\n\n## User\n\nSigns in.\n\n## Guest\n\nLooks around.",
        "<p>The <user> element of the file holds a name.</p>",
        "Customer\n\nI bought a lamp, and the agent was friendly.",
        "I use the form [user] in my notes.",
    ],
)
def test_a_text_about_roles_is_no_chat(text: str) -> None:
    assert not any(part.is_chat for part in parse_utterances(text))


def test_a_chat_is_complete_unless_text_stands_outside_of_its_messages() -> None:
    chat = "<user>I ski.</user>\n<assistant>Nice.</assistant>"
    for text in (chat, f"<chat id='1'>\n{chat}\n</chat>"):
        assert len(marked_messages(text, complete=True)) == 2
    for text in (f"Notes of Monday\n{chat}", f"{chat}\nArchived by Ann"):
        assert len(marked_messages(text)) == 2
        assert marked_messages(text, complete=True) == []
