"""The Notion connector."""
