import { timingSafeEqual } from 'node:crypto'
import type { Snapshot } from '../core/snapshot/snapshot.ts'
import type { AgentEntry } from '../core/wire/gateway/sync.ts'
import type { Credentials, KeyedPort } from './pipeline/exchange.ts'
import { sha256 } from './process/sha256.ts'

/**
 * Agents by verified `Proxy-Authorization` header, for each snapshot. A key is therefore hashed only once for each
 * snapshot, and a revoked key is discarded with its snapshot.
 */
const verified = new WeakMap<Snapshot, Map<string, AgentEntry>>()
const MAX_VERIFIED = 2_000

/**
 * Returns the agent that sends the request; null when the credentials are not valid. The port of a pod identifies its
 * agent. Elsewhere `Proxy-Authorization: Basic base64(name:key)` identifies the agent, and the port of an agent accepts
 * no other agent. The status of the agent is not checked here.
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
  const cached = verified.get(snapshot) ?? newCache(snapshot)
  // The cache key contains the agent of the port, because a port key is valid on its own port only. A header value
  // contains no line feed, so the separator is unambiguous.
  const cacheKey = keyedPort === undefined ? header : `${keyedPort.agent}\n${header}`
  const hit = cached.get(cacheKey)
  if (hit !== undefined) return hit
  const agent = verify(header, snapshot, keyedPort)
  if (agent === null) return null
  if (cached.size >= MAX_VERIFIED) cached.clear()
  cached.set(cacheKey, agent)
  return agent
}

type Presented = Extract<Credentials, { kind: 'basic' }>

function newCache(snapshot: Snapshot): Map<string, AgentEntry> {
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
  // The key of an unknown name is hashed as well, so that timing does not reveal whether an agent exists.
  const given = sha256(key)
  const expected = Buffer.from(agent?.key_sha256 ?? '', 'hex')
  const matches = timingSafeEqual(
    given,
    expected.length === given.length ? expected : Buffer.alloc(given.length),
  )
  return agent !== undefined && expected.length === given.length && matches ? agent : null
}
