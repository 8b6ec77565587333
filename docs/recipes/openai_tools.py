"""The OpenAI SDK with memory as a tool: the model asks when it wants to know.

pip install openai supermemory==5.0.1
python openai_tools.py alice "Which of my friends likes chess?"
"""

import json
import os
import sys

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from supermemory import Supermemory

SEARCH: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "search_memory",
        "description": "What is remembered of the user, their friends and their documents.",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "A full question."}},
            "required": ["query"],
        },
    },
}
memory, model = Supermemory(), OpenAI()
who, said = sys.argv[1:]
messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": said}]

for _ in range(5):
    answer = model.chat.completions.create(
        model=os.environ.get("MODEL", "gpt-5-mini"), messages=messages, tools=[SEARCH]
    )
    message = answer.choices[0].message
    if not message.tool_calls:
        print(message.content)
        break
    messages.append(message.to_dict())
    for call in message.tool_calls:
        query = json.loads(call.function.arguments)["query"]
        results = memory.search(who, query=query, limit=5).results
        text = "\n".join(result.memory or result.chunk or "" for result in results)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": text or "Nothing is known of it."})
