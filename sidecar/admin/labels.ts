import type { TrafficRecord } from '../../core/record.ts'
import { LIMITS } from '../../core/wire/limits.ts'
import type { DenyReason } from '../pipeline/exchange.ts'

/** Label values that agents can make up are bounded: what comes after the first few hundred is `other`. */
export type LabelBounds = {
  agent(name: string | null): string
  connector(type: string | null): string
  action(type: string | null): string
}

/** Action types of the catalogue are a closed set of a few thousand; those named by the request itself are not. */
const NAMED_BY_REQUEST = /^mcp\.|\.graphql\.|\.unmapped\./
const MAX_CATALOGUE_ACTIONS = 4_000
const MAX_CONNECTORS = 64

export function createLabelBounds(): LabelBounds {
  const agent = bounded(LIMITS.metricAgents)
  const connector = bounded(MAX_CONNECTORS)
  const catalogue = bounded(MAX_CATALOGUE_ACTIONS)
  const named = bounded(LIMITS.metricToolNames)
  /** The action types that are labels of their own. */
  const seen = new Set<string>()
  return {
    agent: (name) => agent(name ?? 'unknown'),
    connector: (type) => connector(type ?? 'none'),
    action: (type) => {
      if (type === null) return catalogue('none')
      // Most have been seen before, and a look-up costs less than looking at the name.
      if (seen.has(type)) return type
      const label = NAMED_BY_REQUEST.test(type) ? named(type) : catalogue(type)
      if (label === type) seen.add(type)
      return label
    },
  }
}

function bounded(max: number): (value: string) => string {
  const seen = new Set<string>()
  return (value) => {
    if (seen.has(value)) return value
    if (seen.size >= max) return 'other'
    seen.add(value)
    return value
  }
}

/** The closed set of `reason` (spec 4.5). A refused rate has its own counter, so it has no reason here. */
export type DeniedLabel =
  | 'permission'
  | 'policy'
  | 'kill_switch'
  | 'unknown_host'
  | 'approval_denied'
  | 'approval_expired'
  | 'ambiguous'
  | 'not_ready'

export const DENIED_LABEL: Readonly<Record<DenyReason, DeniedLabel | null>> = {
  permission: 'permission',
  policy: 'policy',
  // A policy that was never in force denies as a policy does; the record tells them apart.
  policy_invalid: 'policy',
  kill_switch: 'kill_switch',
  unknown_host: 'unknown_host',
  approval_denied: 'approval_denied',
  approval_expired: 'approval_expired',
  // An approval that no longer holds.
  approval_void: 'approval_expired',
  ambiguous: 'ambiguous',
  not_ready: 'not_ready',
  rate_limit: null,
  // A suspended agent and a missing credential are a lack of permission; an address that is refused is no known host.
  agent: 'permission',
  credential: 'permission',
  address: 'unknown_host',
}

export const ERROR_TYPES = ['401', '429', '500', 'timeout', 'connect', 'tls'] as const
export type ErrorType = (typeof ERROR_TYPES)[number]

export function errorTypeOf(record: TrafficRecord): ErrorType | null {
  return ERROR_TYPES.find((type) => type === record.error_type) ?? null
}

export const DECISION_LABEL = { ALLOW: 'allow', HOLD: 'require_approval', DENY: 'deny' } as const
