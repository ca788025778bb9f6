import { createHash, timingSafeEqual } from 'node:crypto'
import type { Snapshot } from '../core/snapshot/snapshot.ts'
import type { AgentEntry } from '../core/wire/sync.ts'
import type { Credentials } from './pipeline/exchange.ts'

/** Headers whose key was verified, per snapshot: hashing happens once per agent, and a revoked key ends with its snapshot. */
const verified = new WeakMap<Snapshot, Map<string, AgentEntry>>()
const MAX_VERIFIED = 2_000

/**
 * Who is asking, or null when nobody can be told. An agent port names its agent by itself; the shared port wants
 * `Proxy-Authorization: Basic base64(name:key)`. The agent's status is the caller's business.
 */
export function identify(credentials: Credentials, snapshot: Snapshot): AgentEntry | null {
  switch (credentials.kind) {
    case 'port':
      return snapshot.agentsByName.get(credentials.agent) ?? null
    case 'basic':
      return byHeader(credentials.header, snapshot)
    case 'none':
      return null
  }
}

function byHeader(header: string, snapshot: Snapshot): AgentEntry | null {
  const known = verified.get(snapshot) ?? remember(snapshot)
  const hit = known.get(header)
  if (hit !== undefined) return hit
  const agent = verify(header, snapshot)
  if (agent === null) return null
  if (known.size >= MAX_VERIFIED) known.clear()
  known.set(header, agent)
  return agent
}

function remember(snapshot: Snapshot): Map<string, AgentEntry> {
  const fresh = new Map<string, AgentEntry>()
  verified.set(snapshot, fresh)
  return fresh
}

function verify(header: string, snapshot: Snapshot): AgentEntry | null {
  const encoded = /^basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(header)?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 1) return null
  const agent = snapshot.agentsByName.get(text.slice(0, colon))
  // An unknown name costs the same hash as a known one.
  const given = createHash('sha256')
    .update(text.slice(colon + 1))
    .digest()
  const expected = Buffer.from(agent?.key_sha256 ?? '', 'hex')
  const matches = timingSafeEqual(
    given,
    expected.length === given.length ? expected : Buffer.alloc(given.length),
  )
  return agent !== undefined && expected.length === given.length && matches ? agent : null
}
