import * as z from 'zod'
import { effectOfPattern, isEffectClass } from '../action/effect-class.ts'
import { PolicyScope } from '../crd/policy/policy-document.ts'
import { INVALID_PRIORITY } from '../decision/policies/invalid-policy.ts'
import { POLICY_TIERS } from '../wire/gateway/sections/policy-reach.ts'
import {
  AgentEntry,
  ConnectorEntry,
  GatewaySection,
  PermissionEntry,
  type PolicyEntry,
} from '../wire/gateway/sync.ts'
import { tolerant } from '../wire/schema/tolerant.ts'
import type { NotUnderstood } from './snapshot.ts'

/**
 * Replacement for a section entry that this version of the gateway does not understand. The replacement denies the
 * scope of the original, as far as the scope is readable, unless the original could deny nothing. `entry` contains only
 * identity and scope; null if no entry remains in the section.
 */
export type StandIn<E> = NotUnderstood & { readonly entry: E | null }

/**
 * Returns the stand-in of a section entry with `fields` that this version does not understand. Null if the identity or
 * the scope of the entry is not readable.
 */
export type StandInMaker<E> = (raw: unknown, fields: readonly string[]) => StandIn<E> | null

const EVERYTHING = PolicyScope.parse({})

const ReadableAgent = AgentEntry.omit({ critical: true }).extend({
  status: AgentEntry.shape.status.catch('suspended'),
})

export const standInForAgent: StandInMaker<AgentEntry> = (raw, fields) => {
  const read = ReadableAgent.safeParse(raw)
  if (!read.success) return null
  const { name } = read.data
  const warning = sentence(`Agent "${name}"`, fields, 'all requests of this agent are denied')
  return { entry: read.data, denial: denial(`agent ${name}`, warning, { agents: [name] }), warning }
}

const ReadableConnector = ConnectorEntry.pick({
  id: true,
  name: true,
  domains: true,
  ports: true,
  baseUrl: true,
  environment: true,
  managed_by: true,
}).extend({
  type: ConnectorEntry.shape.type.nullable().catch(null),
  source: ConnectorEntry.shape.source.catch('api'),
})

export const standInForConnector: StandInMaker<ConnectorEntry> = (raw, fields) => {
  const read = ReadableConnector.safeParse(raw)
  if (!read.success) return null
  const { type, ...readable } = read.data
  const { name, domains, baseUrl } = readable
  const areHostsUnknown = type === null && domains.length === 0 && baseUrl === undefined
  const effect = areHostsUnknown
    ? 'requests to every host that belongs to no other connector are refused, because the hosts of this connector are unknown'
    : 'all requests to its hosts are denied'
  const warning = sentence(`Connector "${name}"`, fields, effect)
  const entry: ConnectorEntry = {
    ...readable,
    type: type ?? 'generic',
    auth: { type: 'none' },
    secret: null,
    upstream: { allowPrivateAddresses: false },
    tlsMode: 'intercept',
    errorShape: 'service',
    actions: [],
  }
  const policy = denial(`connector ${name}`, warning, { connectors: [name] })
  return { entry, denial: policy, warning, ...(areHostsUnknown ? { closesEgress: true } : {}) }
}

const ReadablePermission = PermissionEntry.omit({ critical: true }).extend({
  action_pattern: z.string(),
  decision: z.unknown(),
  source: PermissionEntry.shape.source.catch('api'),
})

export const standInForPermission: StandInMaker<PermissionEntry> = (raw, fields) => {
  const read = ReadablePermission.safeParse(raw)
  if (!read.success) return null
  const { id, agent, manifest, decision, action_pattern: pattern, connector_type: connectorType } = read.data
  const named =
    manifest === undefined ? `Permission "${pattern}"` : `Permission "${manifest}", rule "${pattern}",`
  const effect = effectOfPattern(pattern)
  if (effect === null || isEffectClass(effect)) {
    const warning = sentence(named, fields, 'all requests that match the rule are denied')
    return { entry: { ...read.data, decision: 'deny', reason: warning }, denial: null, warning }
  }
  if (decision === 'allow') {
    return { entry: null, denial: null, warning: sentence(named, fields, 'the rule allows nothing') }
  }
  const warning = sentence(
    named,
    fields,
    'all actions that the agents of the rule perform are denied, because each action may be one that the rule denies',
  )
  const scope = { agents: [agent], actions: [connectorType === '*' ? '*' : `${connectorType}.*`] }
  return { entry: null, denial: denial(`permission ${id}`, warning, scope), warning }
}

const ReadablePolicy = z.object({
  id: z.string(),
  name: z.string(),
  version: z.int(),
  mode: z.enum(['enforce', 'monitor']).catch('enforce'),
  document: z.object({ scope: tolerant(PolicyScope).prefault({}).catch(EVERYTHING) }),
  agentsOf: z.string().optional(),
  tier: z.enum(POLICY_TIERS).optional().catch(undefined),
})

export const standInForPolicy: StandInMaker<PolicyEntry> = (raw, fields) => {
  const read = ReadablePolicy.safeParse(raw)
  if (!read.success) return null
  const { id, name, version, mode, document, agentsOf, tier } = read.data
  if (mode === 'monitor') {
    const warning = sentence(
      `Policy "${name}"`,
      fields,
      'the policy has no effect, because its mode is monitor',
    )
    return { entry: null, denial: null, warning }
  }
  const warning = sentence(`Policy "${name}"`, fields, 'everything in its scope is denied')
  const entry: PolicyEntry = {
    ...denial(name, warning, document.scope),
    id,
    version,
    ...(agentsOf === undefined ? {} : { agentsOf }),
    ...(tier === undefined || tier === 'installation' ? {} : { tier }),
  }
  return { entry, denial: null, warning }
}

const ReadableGateway = GatewaySection.pick({ id: true, name: true })

export const standInForGateway: StandInMaker<GatewaySection> = (raw, fields) => {
  const read = ReadableGateway.safeParse(raw)
  if (!read.success) return null
  const { name } = read.data
  const warning = sentence(`Gateway "${name}"`, fields, 'everything is denied')
  const entry = GatewaySection.parse({
    ...read.data,
    enforcementLevel: 'full_enforce',
    defaultDecision: 'deny',
    egress: {},
    rateLimit: {},
    approvals: {},
    failurePolicy: {},
  })
  return { entry, denial: denial(`gateway ${name}`, warning, {}), warning, closesEgress: true }
}

/** Name of the only rule of a denying policy. */
const NOT_UNDERSTOOD = 'not_understood'
const ID_PREFIX = `${NOT_UNDERSTOOD}:`
const MAX_REASON = 500

/** Reports whether the policy is a denial that a stand-in added for a section entry. */
export function isDenialOfEntry({ id }: Pick<PolicyEntry, 'id'>): boolean {
  return id.startsWith(ID_PREFIX)
}

function denial(name: string, warning: string, scope: Partial<PolicyScope>): PolicyEntry {
  const rule = { name: NOT_UNDERSTOOD, conditions: [], decision: 'deny' as const, approver_groups: [] }
  return {
    id: ID_PREFIX + name,
    name,
    version: 1,
    priority: INVALID_PRIORITY,
    mode: 'enforce' as const,
    document: {
      scope: { ...EVERYTHING, ...scope },
      rules: [{ ...rule, reason: warning.slice(0, MAX_REASON) }],
      tests: [],
    },
  }
}

function sentence(subject: string, fields: readonly string[], effect: string): string {
  return `${subject} uses ${fields.join(', ')}, which this version of the gateway does not understand, so ${effect}. Upgrade the gateway.`
}
