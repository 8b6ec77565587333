// Uses the npm client and its tools for AI SDKs: `node npm_client.mjs URL KEY`. Prints one JSON object.
import Supermemory from 'supermemory'
import { supermemoryTools } from '@supermemory/tools/ai-sdk'

const [url, key] = process.argv.slice(2)
const client = new Supermemory({ apiKey: key, baseURL: url, maxRetries: 0 })
const tag = 'npm-client'

const added = await client.add({ content: 'Grace keeps bees in Bergen.', containerTag: tag, customId: 'bees' })
const deadline = Date.now() + 60_000
while ((await client.documents.get(added.id)).status !== 'done' && Date.now() < deadline) {
  await new Promise(resolve => setTimeout(resolve, 50))
}
const found = await client.search.documents({ q: 'Who keeps bees?', containerTags: [tag] })
const hybrid = await client.search.memories({ q: 'Who keeps bees?', containerTag: tag, searchMode: 'hybrid' })
const listed = await client.documents.list({ containerTags: [tag] })
const everywhere = await client.documents.list()
const tools = supermemoryTools(key, { baseUrl: url, containerTags: [tag] })
const searched = await tools.searchMemories.execute({ informationToGet: 'bees', includeFullDocs: false, limit: 5 }, {})
const stored = await tools.addMemory.execute({ memory: 'Grace likes rye bread.' }, {})
const profile = await tools.getProfile.execute({}, {})
const removed = await tools.documentDelete.execute({ documentId: added.id }, {})
console.log(JSON.stringify({
  found: found.results[0].documentId === added.id,
  hybrid: (hybrid.results[0].chunk ?? hybrid.results[0].memory).replace(/\.$/, ''),
  listed: listed.memories.map(memory => memory.customId),
  everywhere: everywhere.memories.some(memory => memory.id === added.id),
  searched: searched.success && searched.results.length > 0,
  tools: [stored.success, profile.success, removed.success],
}))
