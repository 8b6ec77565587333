"""A chat with the OpenAI SDK that remembers: what is known goes in front, what was said is kept.

pip install openai supermemory==5.0.1
python openai_chat.py alice "What should I cook tonight?"
"""

import os
import sys

from openai import OpenAI
from supermemory import Supermemory

memory, model = Supermemory(), OpenAI()
who, said = sys.argv[1:]

known = memory.profile(who).profile
found = memory.search(who, query=said, limit=5).results
facts = [fact.memory for fact in (*known.static, *known.dynamic)]
facts += [result.memory or result.chunk or "" for result in found]

answer = model.chat.completions.create(
    model=os.environ.get("MODEL", "gpt-5-mini"),
    messages=[
        {"role": "system", "content": "\n".join(["What is remembered of the user:", *dict.fromkeys(facts)])},
        {"role": "user", "content": said},
    ],
)
text = answer.choices[0].message.content or ""
memory.add(who, content=f"user: {said}\nassistant: {text}")
print(text)
