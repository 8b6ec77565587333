"""Chats as programs write them: messages in JSON, tables and prompts."""
