// The least that makes a peer comparable: name the action, look it up among 1,000 permissions, put a credential in,
// write one record. A map look-up and a buffered append: cheaper than ours on purpose, so that the ratio is honest.
import { createWriteStream } from 'node:fs'

const permissions = new Map()
for (let i = 0; i < 999; i += 1) permissions.set(`llm_a.bench_${i}.create`, 'allow')
permissions.set('llm_a.chat.create', 'allow')

const records = createWriteStream(process.env.RECORDS_FILE, { flags: 'a' })

export const SECRET = 'Bearer sk-bench-injected'

export function govern(method, path) {
  const action = method === 'POST' && path === '/v1/chat/completions' ? 'llm_a.chat.create' : `llm_a.unmapped.${method}`
  return { action, decision: permissions.get(action) ?? (process.env.ALLOW_ALL ? 'allow' : 'deny') }
}

export function record(action, decision, status, startedAt) {
  records.write(
    `${JSON.stringify({ time: new Date().toISOString(), agent: 'bench', action, decision, status, ms: performance.now() - startedAt })}\n`,
  )
}

export function ready(port) {
  process.send?.({ type: 'ready', port })
}

// The last records may still be on their way when the benchmark says stop.
process.on('SIGTERM', () => {
  setTimeout(() => records.end(() => process.exit(0)), 200)
})
