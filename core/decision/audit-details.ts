import type { Action, Parameters } from '../action/action.ts'
import { canonicalJson } from '../action/spec.ts'
import { canonicalTarget } from '../connectors/binding/canonical-target.ts'
import { beginning, excerpt } from '../excerpt.ts'
import type { Decision } from './decision.ts'

/** Details of `action.requested` (spec 6.1). Risk is an integer from 0 to 100 (spec 2.3). */
export type RequestedDetails = {
  readonly action_type: string | null
  readonly resource: {
    readonly provider: string | null
    readonly target: string | null
    readonly environment: string | null
  }
  readonly risk_score: number
  /**
   * Fields that the agent stated: `parameters` and `risk_hints`. A truncated field also has `<name>_bytes` and
   * `<name>_sha256`.
   */
  readonly [stated: string]: unknown
}

/** Details of `action.denied` and `action.allowed`: the policy and rule that decided. */
export type MatchedDetails = { readonly matched_policy: string | null; readonly matched_rule: string | null }

/**
 * Returns the SHA-256 of a text as hex. Callers pass this function as an argument, because core has no cryptography.
 */
export type Sha256 = (text: string) => string

/**
 * Returns the details of `action.requested` for one action, whether it came as a request through a gateway or as an
 * action request to the v1 API.
 */
export function requestedDetails(
  action: Action,
  facts: { readonly environment: string | undefined; readonly riskScore: number; readonly sha256: Sha256 },
): RequestedDetails {
  const { provider } = action.resource
  const target = canonicalTarget(action.connector, action.resource) ?? null
  return {
    action_type: action.type,
    resource: { provider, target, environment: facts.environment ?? null },
    ...statedDetails('parameters', action.parameters, facts.sha256),
    risk_score: percent(facts.riskScore),
    ...statedDetails('risk_hints', action.riskHints, facts.sha256),
  }
}

/**
 * Returns the deciding rule: the pattern of the permission, or the policy and its rule if the policy is stricter. If
 * both allow, returns the policy. Both values are null if no rule decided, for example because of a kill switch, an
 * inactive agent, a missing credential, the enforcement level or the default.
 */
export function matchedDetails(decision: Decision): MatchedDetails {
  const { source, verdict, decisive, permissionPattern } = decision
  if (!BY_RULE.has(source)) return NO_RULE
  const isByPolicy = decisive !== undefined && (source !== 'permission' || verdict === 'allow')
  if (isByPolicy) return { matched_policy: decisive.policyId, matched_rule: decisive.rule }
  return source === 'permission' ? { matched_policy: null, matched_rule: permissionPattern } : NO_RULE
}

const BY_RULE: ReadonlySet<Decision['source']> = new Set<Decision['source']>([
  'permission',
  'policy',
  'policy_invalid',
  'default',
])

const NO_RULE: MatchedDetails = { matched_policy: null, matched_rule: null }

/** Converts a score between 0 and 1 to the integer in audit details. */
export function percent(score: number): number {
  return Math.round(score * 100)
}

/**
 * Maximum size of a field that is stored complete, in characters of JSON. The limit bounds the size of a page: up to
 * 500 events in the audit log, up to a thousand in an export.
 */
const MAX_WHOLE = 32 * 1024
const MAX_FIELDS = 40
const MAX_NAME = 100
const MAX_VALUE = 500

/**
 * Returns fields as the agent stated them, complete up to `MAX_WHOLE` characters of JSON. A larger field is reduced to
 * its first `MAX_FIELDS` members, with long names and values cut. The result then also has `<name>_bytes` and
 * `<name>_sha256` of the complete canonical JSON (RFC 8785).
 */
export function statedDetails(
  name: 'parameters' | 'risk_hints',
  stated: Parameters,
  sha256: Sha256,
): Readonly<Record<string, unknown>> {
  if (JSON.stringify(stated).length <= MAX_WHOLE) return { [name]: stated }
  const text = canonicalJson(stated)
  const fields = Object.entries(stated).slice(0, MAX_FIELDS)
  return {
    [name]: Object.fromEntries(
      fields.map(([field, value]) => [beginning(field, MAX_NAME), excerpt(value, MAX_VALUE)]),
    ),
    [`${name}_bytes`]: UTF8.encode(text).length,
    [`${name}_sha256`]: sha256(text),
  }
}

const UTF8 = new TextEncoder()
