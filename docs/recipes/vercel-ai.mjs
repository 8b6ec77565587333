// Memory as a tool of the Vercel AI SDK, over plain HTTP.
//
// npm install ai @ai-sdk/openai-compatible zod
// node vercel-ai.mjs alice "Which of my friends likes chess?"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

const [who, said] = process.argv.slice(2);
const model = createOpenAICompatible({
  name: "model",
  baseURL: process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1",
  apiKey: process.env.OPENAI_API_KEY,
});

const searchMemory = tool({
  description: "What is remembered of the user, their friends and their documents.",
  inputSchema: z.object({ query: z.string().describe("A full question.") }),
  execute: async ({ query }) => {
    const answer = await fetch(`${process.env.SUPERMEMORY_BASE_URL}/ns/${who}/search`, {
      method: "POST",
      headers: { Authorization: `Bearer ${process.env.SUPERMEMORY_API_KEY}`, "Content-Type": "application/json" },
      body: JSON.stringify({ query, limit: 5 }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return (await answer.json()).results.map((result) => result.memory ?? result.chunk).join("\n");
  },
});

const { text } = await generateText({
  model: model(process.env.MODEL ?? "gpt-5-mini"),
  prompt: said,
  tools: { search_memory: searchMemory },
  stopWhen: stepCountIs(5),
});
console.log(text);
