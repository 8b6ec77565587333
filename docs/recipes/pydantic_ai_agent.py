"""An agent of Pydantic AI that searches the memory, and keeps what was said.

pip install "pydantic-ai-slim[openai]" supermemory==5.0.1
python pydantic_ai_agent.py alice "Which of my friends likes chess?"
"""

import os
import sys

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from supermemory import Supermemory

memory = Supermemory()
who, said = sys.argv[1:]
agent = Agent(
    OpenAIChatModel(os.environ.get("MODEL", "gpt-5-mini")), instructions="Search the memory before you answer."
)


@agent.tool_plain
def search_memory(query: str) -> str:
    """Search what is remembered of the user, their friends and their documents.

    Args:
        query: A full question.
    """
    results = memory.search(who, query=query, limit=5).results
    return "\n".join(result.memory or result.chunk or "" for result in results) or "Nothing is known of it."


answer = agent.run_sync(said).output
memory.add(who, content=f"user: {said}\nassistant: {answer}")
print(answer)
