import type { ConnectorTypeName } from '../../../../core/wire/connectors.ts'
import type { AccessRule, EnforcementLevel, SetupConnector } from '../../../../core/wire/gateways.ts'
import type { RuleDecision } from '../../../../core/wire/permissions.ts'
import { isPlaintext } from '../../components/form/is-plaintext.ts'
import { CONNECTOR_LABELS, TYPES_WITHOUT_HOSTS } from '../../labels/connector-types.ts'
import { connectorNameProblem, nameProblem } from '../../labels/plain-name.ts'

export type PatternDraft = { readonly key: number; readonly pattern: string; readonly decision: RuleDecision }
export type ConnectorDraft = {
  readonly key: number
  readonly type: ConnectorTypeName
  /** Name of the connector; empty to use the default name. */
  readonly name: string
  readonly token: string
  readonly domains: readonly string[]
  /** Paths on which the gateway reads JSON-RPC, for connectors of type `mcp`. Empty for all paths. */
  readonly endpoint: readonly string[]
  /** Base URL of a self-hosted instance. Empty when requests go to the hosts of the provider. */
  readonly baseUrl: string
  readonly allowsPrivate: boolean
  readonly allowsPlaintext: boolean
  /** Name of the header that contains the credential; empty to use the default header. */
  readonly header: string
  readonly accessRule: AccessRule
  readonly patterns: readonly PatternDraft[]
}
export type Draft = {
  readonly gateway: {
    readonly isNew: boolean
    readonly name: string
    readonly host: string
    readonly port: number
    readonly level: EnforcementLevel
  }
  readonly agent: { readonly isNew: boolean; readonly name: string }
  readonly connectors: readonly ConnectorDraft[]
}

export const EMPTY_DRAFT: Draft = {
  gateway: { isNew: false, name: '', host: '127.0.0.1', port: 9443, level: 'full_enforce' },
  agent: { isNew: true, name: '' },
  connectors: [],
}

export const needsDomains = (type: string): boolean => TYPES_WITHOUT_HOSTS.includes(type)

export function newConnector(type: ConnectorTypeName, key: number): ConnectorDraft {
  const access = { accessRule: 'require_approval', patterns: [] } as const
  return {
    key,
    type,
    name: '',
    token: '',
    domains: [],
    endpoint: [],
    baseUrl: '',
    allowsPrivate: false,
    allowsPlaintext: false,
    header: '',
    ...access,
  }
}

/** Returns the reason why a step of the wizard is incomplete; null if the step is complete. */
export function stepProblem(step: number, { gateway, agent, connectors }: Draft): string | null {
  if (step === 0) return gateway.name.trim() === '' ? 'Enter the name of the gateway.' : null
  if (step === 1) {
    const name = agent.name.trim()
    if (name === '') return 'Enter the name of the agent.'
    return agent.isNew && nameProblem(name) !== null ? 'Correct the name of the agent.' : null
  }
  const [first] = connectors.flatMap((connector) => {
    const problem = connectorProblem(connector)
    return problem === null
      ? []
      : [`${CONNECTOR_LABELS[connector.type]?.title ?? connector.type}: ${problem}`]
  })
  return first ?? null
}

/** Returns the missing or invalid setting of a connector as text, or null. */
export function connectorProblem(draft: ConnectorDraft): string | null {
  const wrongName = connectorNameProblem(draft.name)
  if (wrongName !== null) return wrongName
  if (draft.token.trim() === '') return 'Enter the credential.'
  if (needsDomains(draft.type) && draft.domains.length === 0) return 'Enter at least one host.'
  if (draft.accessRule !== 'custom') return null
  if (draft.patterns.length === 0) return 'Add at least one pattern.'
  const wrong = draft.patterns.find(({ pattern }) => patternProblem(pattern, draft.type) !== null)
  return wrong === undefined
    ? null
    : `${wrong.pattern || 'A pattern'}: ${patternProblem(wrong.pattern, draft.type)}`
}

/**
 * Returns the problem of a pattern, or null. A pattern must be a dotted name of this connector, optionally with an
 * asterisk at the end. The server validates the pattern fully.
 */
export function patternProblem(pattern: string, type: string): string | null {
  if (!pattern.startsWith(`${type}.`)) return `must start with "${type}."`
  if (pattern.slice(0, -1).includes('*')) return 'can contain * only at the end'
  return null
}

/** Returns the body of the request `POST /api/dashboard/gateway`, which creates all objects of the wizard. */
export function requestOf({ gateway, agent, connectors }: Draft) {
  const address = { host: gateway.host, port: gateway.port, enforcementLevel: gateway.level }
  return {
    gateway: gateway.isNew ? { name: gateway.name.trim(), ...address } : { name: gateway.name },
    agent: { name: agent.name.trim(), create: agent.isNew },
    connectors: connectors.map(connectorOf),
  }
}

function connectorOf(draft: ConnectorDraft): SetupConnector {
  const { type, name, token, domains, endpoint, baseUrl, header, accessRule, patterns } = draft
  return {
    type,
    token: token.trim(),
    accessRule,
    ...(name.trim() === '' ? {} : { name: name.trim() }),
    ...(domains.length === 0 ? {} : { domains: [...domains] }),
    ...(endpoint.length === 0 ? {} : { endpoint: [...endpoint] }),
    ...(baseUrl.trim() === '' ? {} : { base_url: baseUrl.trim() }),
    ...(draft.allowsPrivate ? { allow_private_addresses: true } : {}),
    ...(draft.allowsPlaintext && isPlaintext(baseUrl) ? { allow_plaintext_credential: true } : {}),
    ...(header.trim() === '' ? {} : { auth_type: 'header', header: header.trim() }),
    ...(accessRule === 'custom'
      ? { customPatterns: patterns.map(({ pattern, decision }) => ({ pattern, decision })) }
      : {}),
  }
}
