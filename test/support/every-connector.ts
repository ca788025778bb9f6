import { REACHING_KINDS } from '../../core/connectors/provider-side/kinds.ts'
import type { ConnectorEntry } from '../../core/wire/gateway/sync.ts'
import { type Recorder, type RecorderOptions, startRecorder } from './recorder.ts'
import { createTestCa, type TestCa } from './test-ca.ts'

type ConnectorType = ConnectorEntry['type']

/**
 * Hosts of the corpus by connector type: the hosts of the providers, and a host for each of the three types without hosts of
 * their own.
 */
export const HOSTS: Readonly<Record<ConnectorType, readonly [string, ...string[]]>> = {
  codehost: ['api.github.com', 'github.com', 'uploads.github.com'],
  llm_a: ['api.openai.com'],
  llm_b: ['api.anthropic.com'],
  llm_c: ['generativelanguage.googleapis.com'],
  payments: ['api.stripe.com'],
  chat: ['slack.com', 'api.slack.com', 'files.slack.com'],
  generic: ['api.generic.test'],
  webhook: ['hooks.webhook.test'],
  mcp: ['tools.mcp.test'],
}

export const CONNECTOR_TYPES = Object.keys(HOSTS) as readonly ConnectorType[]
const BY_CONFIGURATION: ReadonlySet<string> = new Set(['generic', 'webhook', 'mcp'])

/** Returns the stored credential of a connector, which the upstream must receive in place of any other credential. */
export function storedSecret(type: ConnectorType): string {
  return `stored-secret-of-${type.replace('_', '-')}`
}

/**
 * Returns the header with the stored credential: `Authorization: token …` for the code host, `x-api-key` or `x-goog-api-key`
 * for two model providers, else a bearer token.
 */
export function storedHeader(type: ConnectorType): readonly [name: string, value: string] {
  if (type === 'llm_b') return ['x-api-key', storedSecret(type)]
  if (type === 'llm_c') return ['x-goog-api-key', storedSecret(type)]
  return ['authorization', `${type === 'codehost' ? 'token' : 'Bearer'} ${storedSecret(type)}`]
}

export type Rule = readonly [
  type: ConnectorType,
  pattern: string,
  decision: 'allow' | 'deny' | 'require_approval',
]

export type EverythingOptions = {
  /** Permission rules by agent name; `*` for every agent. */
  readonly rules?: Readonly<Record<string, readonly Rule[]>>
  /** Further YAML documents for the manifests folder. */
  readonly extra?: string
  readonly gatewaySpec?: string
  readonly recorder?: Omit<RecorderOptions, 'tls'>
}

export type Everything = { readonly recorder: Recorder; readonly manifests: string; readonly ca: TestCa }

/** Starts one recorder as the upstream of connectors of all types. Each connector has a credential of its own. */
export async function startEverything(options: EverythingOptions = {}): Promise<Everything> {
  const ca = createTestCa()
  const tls = ca.issue(...CONNECTOR_TYPES.flatMap((type) => [...HOSTS[type]]))
  const recorder = await startRecorder({ ...options.recorder, tls })
  const manifests = [
    resource('Gateway', 'local', options.gatewaySpec ?? '  rateLimit: { requestsPerMinute: 1000000 }'),
    `apiVersion: v1\nkind: Secret\nmetadata: { name: stored }\nstringData:\n${secretLines()}`,
    ...CONNECTOR_TYPES.map((type) => connectorManifest(type, recorder.port, ca.cert)),
    ...Object.entries(options.rules ?? { '*': allowAll() }).map(permissionManifest),
    ...(options.extra === undefined ? [] : [options.extra]),
  ].join('\n---\n')
  return { recorder, manifests, ca }
}

export function allowAll(): readonly Rule[] {
  const wildcards = CONNECTOR_TYPES.map((type): Rule => [type, `${type}.*`, 'allow'])
  return [...wildcards, ['mcp', 'mcp.rpc.unknown', 'allow']]
}

export function denyAll(): readonly Rule[] {
  return CONNECTOR_TYPES.map((type) => [type, `${type}.*`, 'deny'])
}

export function resource(kind: string, name: string, spec: string): string {
  return `apiVersion: chaperone.dev/v1alpha1\nkind: ${kind}\nmetadata: { name: ${name} }\nspec:\n${spec}\n`
}

function secretLines(): string {
  return CONNECTOR_TYPES.map((type) => `  ${keyOf(type)}: ${storedSecret(type)}\n`).join('')
}

function keyOf(type: ConnectorType): string {
  return type.replace('_', '-')
}

/** Returns the `upstream` field of a Connector spec for a recorder on this machine. */
export function upstreamSpec(port: number, caPem: string): string {
  const pem = caPem.trim().replaceAll('\n', '\n      ')
  return `  upstream:\n    url: https://127.0.0.1:${port}\n    allowPrivateAddresses: true\n    caBundle: |\n      ${pem}`
}

function connectorManifest(type: ConnectorType, port: number, caPem: string): string {
  const domains = BY_CONFIGURATION.has(type) ? `  domains: [${HOSTS[type].join(', ')}]\n` : ''
  // Permissions of agents decide about hosted tools. The Gateway restricts the hosts that these tools can reach.
  const tools = type.startsWith('llm_') ? `  providerTools: { allow: [${REACHING_KINDS.join(', ')}] }\n` : ''
  const credential = `  credential: { secretRef: { name: stored, key: ${keyOf(type)} } }\n`
  return resource(
    'Connector',
    keyOf(type),
    `  type: ${type}\n${domains}${tools}${credential}${upstreamSpec(port, caPem)}`,
  )
}

function permissionManifest([agent, rules]: readonly [string, readonly Rule[]], at: number): string {
  const lines = rules.map(
    ([type, pattern, decision]) =>
      `    - { connectorType: ${type}, actionPattern: '${pattern}', decision: ${decision} }`,
  )
  return resource(
    'Permission',
    `rules-${at}`,
    `  gatewayRefs: [{ name: local }]\n  agents: ['${agent}']\n  rules:\n${lines.join('\n')}`,
  )
}
