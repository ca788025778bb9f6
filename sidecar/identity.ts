import { timingSafeEqual } from 'node:crypto'
import type { Snapshot } from '../core/snapshot/snapshot.ts'
import type { AgentEntry } from '../core/wire/gateway/sync.ts'
import { sha256 } from '../runtime/sha256.ts'
import type { Credentials, KeyedPort } from './pipeline/credentials/credentials.ts'

/** Agents by verified `Proxy-Authorization` header. */
type Headers = Map<string, AgentEntry>

/**
 * Verified headers for each snapshot. A key is therefore hashed only once for each snapshot, and a revoked key is
 * discarded with its snapshot. A port key is valid on its own port only, so the port of each agent has headers of its
 * own; the headers of the shared port have the key null. Two map accesses with strings that the connection already has
 * are faster than one with a string that is joined for each request.
 */
const verified = new WeakMap<Snapshot, Map<string | null, Headers>>()
/**
 * Maximum number of cached headers on the shared port, and on the port of one agent. The number is limited, because an
 * agent can spell its header in many ways.
 */
const MAX_VERIFIED = { shared: 2_000, ofAgent: 32 } as const

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
  const port = keyedPort?.agent ?? null
  const cached = verified.get(snapshot)?.get(port)
  const hit = cached?.get(header)
  if (hit !== undefined) return hit
  const agent = verify(header, snapshot, keyedPort)
  if (agent === null) return null
  const all = cached ?? newCache(snapshot, port)
  if (all.size >= (port === null ? MAX_VERIFIED.shared : MAX_VERIFIED.ofAgent)) all.clear()
  all.set(header, agent)
  return agent
}

type Presented = Extract<Credentials, { kind: 'basic' }>

function newCache(snapshot: Snapshot, port: string | null): Headers {
  const ports = verified.get(snapshot) ?? new Map<string | null, Headers>()
  const fresh: Headers = new Map()
  verified.set(snapshot, ports.set(port, fresh))
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
