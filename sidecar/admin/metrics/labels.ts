import type { TrafficRecord } from '../../../core/record.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { DenyReason } from '../../pipeline/outcome.ts'

/** Bounds the number of label values, because agents can invent them. Values beyond the limit become `other`. */
export type LabelBounds = {
  agent(name: string | null): string
  connector(type: string | null): string
  action(type: string | null): string
}

/**
 * Matches action types that contain a name from the request. Agents can invent any number of such names. All other
 * types come from the catalogue, a closed set of a few thousand.
 */
const NAMED_BY_REQUEST = /^mcp\.|\.graphql\.|\.unmapped\./
const MAX_CATALOGUE_ACTIONS = 4_000
const MAX_CONNECTORS = 64

export function createLabelBounds(): LabelBounds {
  const agent = bounded(LIMITS.metricAgents)
  const connector = bounded(MAX_CONNECTORS)
  const catalogue = bounded(MAX_CATALOGUE_ACTIONS)
  const named = bounded(LIMITS.metricToolNames)
  /** Action types that have a label value of their own. */
  const seen = new Set<string>()
  return {
    agent: (name) => agent(name ?? 'unknown'),
    connector: (type) => connector(type ?? 'none'),
    action: (type) => {
      if (type === null) return catalogue('none')
      // Fast path: testing membership in the set costs less than matching the pattern.
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

/**
 * Values of the label `reason`. Refusals by a rate limit have no value here, because they have a counter of their own.
 */
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
  // A policy that was never valid counts like a policy that denies. The record distinguishes the two.
  policy_invalid: 'policy',
  kill_switch: 'kill_switch',
  unknown_host: 'unknown_host',
  approval_denied: 'approval_denied',
  approval_expired: 'approval_expired',
  approval_void: 'approval_expired',
  ambiguous: 'ambiguous',
  not_ready: 'not_ready',
  rate_limit: null,
  // A suspended agent and a missing credential count as missing permissions; a refused address counts as an unknown
  // host.
  agent: 'permission',
  credential: 'permission',
  address: 'unknown_host',
}

const ERROR_TYPES = ['401', '429', '500', 'timeout', 'connect', 'tls'] as const
export type ErrorType = (typeof ERROR_TYPES)[number]

export function errorTypeOf(record: TrafficRecord): ErrorType | null {
  return ERROR_TYPES.find((type) => type === record.error_type) ?? null
}

export const DECISION_LABEL = { ALLOW: 'allow', HOLD: 'require_approval', DENY: 'deny' } as const
