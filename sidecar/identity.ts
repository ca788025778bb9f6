import { timingSafeEqual } from 'node:crypto'
import type { Snapshot } from '../core/snapshot/snapshot.ts'
import type { AgentEntry } from '../core/wire/gateway/sync.ts'
import type { Credentials, KeyedPort } from './pipeline/exchange.ts'
import { sha256 } from './process/sha256.ts'

/** Headers whose key was verified, per snapshot: hashing happens once per agent, and a revoked key ends with its snapshot. */
const verified = new WeakMap<Snapshot, Map<string, AgentEntry>>()
const MAX_VERIFIED = 2_000

/**
 * Returns the agent that is asking, or null. A pod's port names its agent by itself; everywhere else
 * `Proxy-Authorization: Basic base64(name:key)` does, and a port of one agent takes no other. Does not look at the
 * agent's status.
 */
export function identify(credentials: Credentials, snapshot: Snapshot): AgentEntry | null {
  switch (credentials.kind) {
    case 'port':
      return snapshot.agentsByName.get(credentials.agent) ?? null
    case 'basic':
      return byHeader(credentials, snapshot)
    case 'none':
      return null
  }
}

function byHeader({ header, keyedPort }: Presented, snapshot: Snapshot): AgentEntry | null {
  const known = verified.get(snapshot) ?? remember(snapshot)
  // The key of a port is good there alone. No header value holds a line feed.
  const remembered = keyedPort === undefined ? header : `${keyedPort.agent}\n${header}`
  const hit = known.get(remembered)
  if (hit !== undefined) return hit
  const agent = verify(header, snapshot, keyedPort)
  if (agent === null) return null
  if (known.size >= MAX_VERIFIED) known.clear()
  known.set(remembered, agent)
  return agent
}

type Presented = Extract<Credentials, { kind: 'basic' }>

function remember(snapshot: Snapshot): Map<string, AgentEntry> {
  const fresh = new Map<string, AgentEntry>()
  verified.set(snapshot, fresh)
  return fresh
}

function verify(header: string, snapshot: Snapshot, keyedPort?: KeyedPort): AgentEntry | null {
  const encoded = /^basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(header)?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 1) return null
  const [name, key] = [text.slice(0, colon), text.slice(colon + 1)]
  const agent = snapshot.agentsByName.get(name)
  if (keyedPort !== undefined && keyedPort.agent !== name) return null
  if (agent !== undefined && keyedPort?.accepts(agent, key) === true) return agent
  // An unknown name costs the same hash as a known one.
  const given = sha256(key)
  const expected = Buffer.from(agent?.key_sha256 ?? '', 'hex')
  const matches = timingSafeEqual(
    given,
    expected.length === given.length ? expected : Buffer.alloc(given.length),
  )
  return agent !== undefined && expected.length === given.length && matches ? agent : null
}
