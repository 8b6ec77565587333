"""An agent of the OpenAI Agents SDK that searches the memory, and keeps what was said.

pip install openai-agents supermemory==5.0.1
python openai_agents.py alice "Which of my friends likes chess?"
"""

import os
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from supermemory import Supermemory

memory = Supermemory()
who, said = sys.argv[1:]


@function_tool
def search_memory(query: str) -> str:
    """Search what is remembered of the user, their friends and their documents.

    Args:
        query: A full question.
    """
    results = memory.search(who, query=query, limit=5).results
    return "\n".join(result.memory or result.chunk or "" for result in results) or "Nothing is known of it."


set_tracing_disabled(disabled=True)
agent = Agent(
    name="assistant",
    instructions="Search the memory before you answer.",
    model=OpenAIChatCompletionsModel(model=os.environ.get("MODEL", "gpt-5-mini"), openai_client=AsyncOpenAI()),
    tools=[search_memory],
)
answer = Runner.run_sync(agent, said).final_output
memory.add(who, content=f"user: {said}\nassistant: {answer}")
print(answer)
