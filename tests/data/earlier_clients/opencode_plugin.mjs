// Uses opencode's plugin as opencode does: `node opencode_plugin.mjs URL KEY`. Prints one JSON object.
const [url, key] = process.argv.slice(2)
Object.assign(process.env, { SUPERMEMORY_API_URL: url, SUPERMEMORY_API_KEY: key, HOME: process.cwd() })
const { SupermemoryPlugin } = await import('opencode-supermemory')

const folder = process.cwd()
const plugin = await SupermemoryPlugin({
  directory: folder, worktree: folder, project: { id: 'trial' }, client: { app: { log: async () => {} }, session: {} },
})
const use = async args => JSON.parse(await plugin.tool.supermemory.execute(args, { sessionID: 's', messageID: 'm' }))
const deadline = Date.now() + 60_000
const until = async (args, good) => {
  let answer = await use(args)
  while (!good(answer) && Date.now() < deadline) {
    await new Promise(resolve => setTimeout(resolve, 100))
    answer = await use(args)
  }
  return answer
}

const added = await use({ mode: 'add', content: 'The build uses bun.', type: 'project-config' })
await use({ mode: 'add', content: 'I prefer tabs over spaces.', scope: 'user', type: 'preference' })
const found = await until({ mode: 'search', query: 'What does the build use?' }, answer => answer.count)
const profile = await until({ mode: 'profile' }, answer => answer.profile?.static.length)
const listed = await use({ mode: 'list', scope: 'project' })
const forgotten = await use({ mode: 'forget', memoryId: added.id })
const first = { message: {}, parts: [{ type: 'text', text: 'How do I build this?' }] }
await plugin['chat.message']({ sessionID: 's' }, first)
console.log(JSON.stringify({
  found: found.results[0].content.replace(/\.$/, ''),
  profile: profile.profile.static,
  listed: listed.memories.map(memory => memory.id === added.id),
  forgotten: forgotten.success,
  context: first.parts.some(part => part.text.includes('User prefers tabs over spaces')),
}))
