// An agent of Mastra that searches the memory, and keeps what was said, over plain HTTP.
//
// npm install @mastra/core zod
// node mastra.mjs alice "Which of my friends likes chess?"
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

const [who, said] = process.argv.slice(2);

async function recollect(path, body) {
  const answer = await fetch(`${process.env.SUPERMEMORY_BASE_URL}/ns/${who}/${path}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${process.env.SUPERMEMORY_API_KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

const searchMemory = createTool({
  id: "search_memory",
  description: "What is remembered of the user, their friends and their documents.",
  inputSchema: z.object({ query: z.string().describe("A full question.") }),
  execute: async (input) => {
    const { query } = input.context ?? input; // Mastra before 1.0 wraps it
    const { results } = await recollect("search", { query, limit: 5 });
    return results.map((result) => result.memory ?? result.chunk).join("\n") || "Nothing is known of it.";
  },
});

const agent = new Agent({
  id: "assistant",
  name: "assistant",
  instructions: "Search the memory before you answer.",
  model: {
    id: `openai-compatible/${process.env.MODEL ?? "gpt-5-mini"}`,
    url: process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1",
    apiKey: process.env.OPENAI_API_KEY,
  },
  tools: { search_memory: searchMemory },
});

const { text } = await agent.generate(said);
await recollect("document", { content: `user: ${said}\nassistant: ${text}` });
console.log(text);
