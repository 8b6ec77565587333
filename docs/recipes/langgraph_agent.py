"""A graph of LangGraph: recall, answer, keep what was said.

pip install langgraph openai supermemory==5.0.1
python langgraph_agent.py alice "What should I cook tonight?"
"""

import os
import sys
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from openai import OpenAI
from supermemory import Supermemory

memory, model = Supermemory(), OpenAI()


class Turn(TypedDict, total=False):
    """A turn of the conversation."""

    user: str
    said: str
    known: str
    answer: str


def recall(turn: Turn) -> Turn:
    """Search for what is known."""
    results = memory.search(turn["user"], query=turn["said"], limit=5).results
    return {"known": "\n".join(result.memory or result.chunk or "" for result in results)}


def answer(turn: Turn) -> Turn:
    """Ask the model."""
    known = {"role": "system", "content": f"What is remembered of the user:\n{turn['known']}"}
    asked = [known, {"role": "user", "content": turn["said"]}]
    reply = model.chat.completions.create(model=os.environ.get("MODEL", "gpt-5-mini"), messages=asked)
    return {"answer": reply.choices[0].message.content or ""}


def keep(turn: Turn) -> Turn:
    """Add the turn to the memory."""
    memory.add(turn["user"], content=f"user: {turn['said']}\nassistant: {turn['answer']}")
    return {}


graph = StateGraph(Turn)
for step in (recall, answer, keep):
    graph.add_node(step.__name__, step)
for before, after in ((START, "recall"), ("recall", "answer"), ("answer", "keep"), ("keep", END)):
    graph.add_edge(before, after)
who, words = sys.argv[1:]
print(graph.compile().invoke({"user": who, "said": words})["answer"])
