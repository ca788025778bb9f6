import { fold } from '../action/pattern.ts'
import { normaliseHost } from '../request/authority.ts'
import { GATEWAY_HOST } from '../request/gateway-host.ts'
import type { ConnectorEntry } from '../wire/gateway/sync.ts'
import { chat } from './chat.ts'
import { codehost } from './codehost.ts'
import type { Connector, ConnectorConfig } from './connector.ts'
import { baseOf } from './domains.ts'
import { prepareEffects } from './effects/effects.ts'
import { generic, webhook } from './generic.ts'
import { llmA, llmB, llmC } from './llm.ts'
import { mcp } from './mcp.ts'
import type { NameRules } from './names.ts'
import { payments } from './payments.ts'
import type { RowTrie } from './rows/row-trie.ts'
import { compileUserRows } from './rows/user-rows.ts'

/**
 * All compiled-in connector types, including custom ones. A type is registered only here: its other properties are
 * members of its `Connector`, or derived from it.
 */
export const BUILT_IN = [
  codehost,
  llmA,
  llmB,
  llmC,
  payments,
  chat,
  generic,
  webhook,
  mcp,
] as const satisfies readonly Connector[]

export type ConnectorTypeName = (typeof BUILT_IN)[number]['name']

/** Names of the connector types, in registration order. */
export const CONNECTOR_TYPES: readonly ConnectorTypeName[] = BUILT_IN.map(({ name }) => name)

/** Connector types without default hosts. Each Connector of these types must configure its hosts. */
export const TYPES_WITHOUT_HOSTS: readonly string[] = BUILT_IN.filter(
  ({ name, domains }) => domains({ name, domains: [], actions: [] }).length === 0,
).map(({ name }) => name)

/** Connector types whose code has no catalogue of actions. */
export const TYPES_WITHOUT_CATALOGUE: readonly string[] = BUILT_IN.filter(
  (connector) => !('catalogue' in connector),
).map(({ name }) => name)

const BY_NAME: ReadonlyMap<string, Connector> = new Map(
  BUILT_IN.map((connector: Connector) => [connector.name, connector]),
)

/**
 * Returns the implementation of a connector type. Throws for a type that is not compiled in, which the schemas of
 * Connectors refuse.
 */
export function connectorOfType(type: string): Connector {
  const connector = BY_NAME.get(type)
  if (connector === undefined) throw new Error(`this version of Chaperone has no connector type ${type}`)
  return connector
}

/** Returns the title of a connector type with its name, such as `GitHub (codehost)`; the name of an unknown type. */
export function connectorTitle(type: string): string {
  const title = BY_NAME.get(type)?.label.title
  if (title === undefined) return type
  return title.endsWith(`(${type})`) ? title : `${title} (${type})`
}

/** Rules by which providers compare names, by connector type. Without an entry, all values are compared exactly. */
export const NAME_RULES: ReadonlyMap<string, NameRules> = new Map(
  BUILT_IN.flatMap(({ name, names }: Connector) => (names === undefined ? [] : [[name, names] as const])),
)

/**
 * Returns the rules by which the provider of a connector type compares names; null if all values are compared exactly.
 * The type may be in any letter case, as in deny patterns.
 */
export function nameRulesOf(connectorType: string): NameRules | null {
  return NAME_RULES.get(connectorType) ?? NAME_RULES.get(fold(connectorType)) ?? null
}

/** One Connector object together with the implementation of its type. */
export type BoundConnector = {
  readonly entry: ConnectorEntry
  readonly connector: Connector
  readonly config: ConnectorConfig
  /** Ports of the Connector's domains. If port 443 is listed, port 80 is accepted as well. */
  readonly ports: readonly number[]
  /** Rows declared in `Connector.spec.actions[]`, compiled; null if there are none. */
  readonly userRows: RowTrie | null
}

/** Connectors by the hosts that they own. */
export type HostIndex = {
  readonly exact: ReadonlyMap<string, readonly HostOwner[]>
  /** Owners of wildcard domains, by the name after `*.`. */
  readonly wildcards: ReadonlyMap<string, readonly HostOwner[]>
}
type HostOwner = { readonly bound: BoundConnector; readonly ports: readonly number[] }

/**
 * Combines a Connector object with the implementation of its type, and compiles its declared rows. Exported for tests.
 */
export function bindConnector(
  entry: ConnectorEntry,
  connector = connectorOfType(entry.type),
): BoundConnector {
  connector.prepare?.()
  prepareEffects(entry.type)
  return { ...bindNames(entry, connector), userRows: compileUserRows(entry.type, entry.actions) }
}

/**
 * Combines a Connector object with the implementation of its type, without compiling the declared rows. The result is
 * sufficient to determine its hosts.
 */
function bindNames(entry: ConnectorEntry, connector = connectorOfType(entry.type)): BoundConnector {
  const config: ConnectorConfig = {
    name: entry.name,
    domains: entry.domains,
    actions: entry.actions,
    ...(entry.baseUrl === undefined ? {} : { baseUrl: entry.baseUrl }),
    ...(entry.endpoint === undefined ? {} : { endpoint: entry.endpoint }),
    ...(entry.mcp?.tools === undefined ? {} : { mcpTools: entry.mcp.tools }),
    ...(entry.environment === undefined ? {} : { environment: entry.environment }),
  }
  return { entry, connector, config, ports: entry.ports, userRows: null }
}

/**
 * Builds the host index of a snapshot. If two Connectors claim the same host and port, the first Connector in the list
 * owns them.
 */
export function buildHostIndex(entries: readonly ConnectorEntry[]): HostIndex {
  return indexConnectors(entries.map((entry) => bindConnector(entry)))
}

/** Returns the hosts whose TLS the gateway terminates; a wildcard is the name after `*.`. Compiles no rows. */
export function terminatedHostsOf(entries: readonly ConnectorEntry[]): readonly string[] {
  return terminatedHosts(indexConnectors(entries.map((entry) => bindNames(entry))))
}

export function terminatedHosts({ exact, wildcards }: HostIndex): readonly string[] {
  return [...exact, ...wildcards].flatMap(([host, owners]) =>
    owners.some(({ bound }) => bound.entry.tlsMode === 'intercept') ? [host] : [],
  )
}

/** Builds the host index of connectors that are already bound. */
export function indexConnectors(connectors: readonly BoundConnector[]): HostIndex {
  const exact = new Map<string, HostOwner[]>()
  const wildcards = new Map<string, HostOwner[]>()
  for (const bound of connectors) {
    for (const domain of bound.connector.domains(bound.config)) {
      if (domain.startsWith('*.')) addOwner(wildcards, domain.slice(2), { bound, ports: bound.ports })
      else addOwner(exact, domain, { bound, ports: bound.ports })
    }
    if (bound.config.domains.length === 0) addBase(exact, bound)
  }
  for (const bound of unsharedBases(connectors)) addBase(exact, bound)
  return { exact, wildcards }
}

function addBase(exact: Map<string, HostOwner[]>, bound: BoundConnector): void {
  const base = baseOf(bound.config)
  if (base !== null && base.host !== GATEWAY_HOST)
    addOwner(exact, base.host, { bound, ports: [...bound.ports, base.port] })
}

/**
 * Returns the connectors that own the host of their base URL in addition to their domains. If several connectors share
 * the host and port, none of them owns the host, because a request to it would be ambiguous.
 */
function unsharedBases(connectors: readonly BoundConnector[]): readonly BoundConnector[] {
  const withBoth = connectors.filter(({ config }) => config.domains.length > 0 && baseOf(config) !== null)
  const byBase = Map.groupBy(withBoth, ({ config }) => baseKey(config))
  return withBoth.filter(({ config }) => byBase.get(baseKey(config))?.length === 1)
}

function baseKey(config: ConnectorConfig): string {
  const base = baseOf(config)
  return `${base?.host}:${base?.port}`
}

function addOwner(map: Map<string, HostOwner[]>, domain: string, owner: HostOwner): void {
  // Connector objects may contain IPv6 addresses with or without brackets.
  const host = normaliseHost(domain) ?? normaliseHost(`[${domain}]`)
  if (host === null || host === GATEWAY_HOST) return
  const owners = map.get(host)
  if (owners === undefined) map.set(host, [owner])
  else owners.push(owner)
}

/**
 * Returns the connector that owns a host and port; null if none does. An exact name beats a wildcard, and a longer
 * wildcard beats a shorter one.
 */
export function findConnector(index: HostIndex, host: string, port: number): BoundConnector | null {
  const exact = ownerAt(index.exact.get(host), port)
  if (exact !== null || index.wildcards.size === 0 || host === GATEWAY_HOST) return exact
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    const owner = ownerAt(index.wildcards.get(host.slice(dot + 1)), port)
    if (owner !== null) return owner
  }
  return null
}

/** True if a connector of the host, on any port, has clients that fail over HTTP/2 (see `Connector.prefersHttp1`). */
export function prefersHttp1({ exact, wildcards }: HostIndex, host: string): boolean {
  const owners = [...(exact.get(host) ?? [])]
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    owners.push(...(wildcards.get(host.slice(dot + 1)) ?? []))
  }
  return owners.some(({ bound }) => bound.connector.prefersHttp1 === true)
}

function ownerAt(owners: readonly HostOwner[] | undefined, port: number): BoundConnector | null {
  const owner = owners?.find(({ ports }) => ports.includes(port) || (port === 80 && ports.includes(443)))
  return owner?.bound ?? null
}
