"""A crew of CrewAI with the memory as a tool of its agent.

pip install crewai supermemory==5.0.1
python crewai_agent.py alice "Which of my friends likes chess?"
"""

import os
import sys

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from supermemory import Supermemory

memory = Supermemory()
who, said = sys.argv[1:]


@tool("search_memory")
def search_memory(query: str) -> str:
    """Search what is remembered of the user, their friends and their documents; the query is a full question."""
    results = memory.search(who, query=query, limit=5).results
    return "\n".join(result.memory or result.chunk or "" for result in results) or "Nothing is known of it."


assistant = Agent(
    role="Assistant",
    goal="Answer from what is remembered",
    backstory="You search the memory before you answer.",
    tools=[search_memory],
    llm=LLM(model=f"openai/{os.environ.get('MODEL', 'gpt-5-mini')}", base_url=os.environ.get("OPENAI_BASE_URL")),
)
task = Task(description=said, expected_output="A short answer", agent=assistant)
answer = Crew(agents=[assistant], tasks=[task]).kickoff().raw
memory.add(who, content=f"user: {said}\nassistant: {answer}")
print(answer)
