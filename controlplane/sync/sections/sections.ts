import { agentFields } from '../../../core/decision/permissions/agent-pattern.ts'
import { PERMISSION_SECTIONS, sectionText } from '../../../core/snapshot/sections.ts'
import { addressedEntry } from '../../../core/wire/gateway/addressed-entry.ts'
import { type EntrySection, FIELD_ADDITIONS } from '../../../core/wire/gateway/field-additions.ts'
import type { AgentEntry, GatewaySection, PermissionEntry } from '../../../core/wire/gateway/sync.ts'
import { type AgentRow, isDemoAgent } from '../../features/agents/rows.ts'
import type { GatewayRow } from '../../features/gateways/rows.ts'
import type { PermissionRow } from '../../features/permissions/rows.ts'
import type { Configuration } from './configuration.ts'
import { permissionsOf, sidecarConnectors } from './sidecar-share.ts'
import { sha256Hex } from './signature.ts'

/** Sections of one gateway at one version: the exact JSON text of each section, and its SHA-256 in hex. */
export type SectionSet = {
  readonly version: number
  readonly hashes: Readonly<Record<string, string>>
  readonly texts: ReadonlyMap<string, string>
}

/** A gateway process that receives sections. */
export type Receiver = {
  /** Name of a sidecar's agent; null for a gateway process. A sidecar receives only the content for its agent. */
  readonly agent: string | null
  /**
   * Protocol version of the process. A process receives the fields of its protocol version, and newer fields that a
   * process must not ignore.
   */
  readonly protocol: number
}

/**
 * Builds the sections of a gateway. Null when the configuration has no such gateway. Equal configurations give equal
 * bytes.
 */
export function buildSections(
  configuration: Configuration,
  gatewayId: string,
  { agent, protocol }: Receiver,
): SectionSet | null {
  const gateway = configuration.gateways.get(gatewayId)
  if (gateway === undefined) return null
  const agents = agentEntries(configuration.agents, gatewayId)
  const all = configuration.permissions.get(gatewayId) ?? []
  const permissions = agent === null ? all : permissionsOf(all, agent)
  const connectors = forGateway(configuration.connectors, gatewayId)
  const own = agent === null ? agents : agents.filter(({ name }) => name === agent)
  const contents: ReadonlyArray<readonly [string, unknown]> = [
    ['gateway', gatewaySection(gateway)],
    ['agents', own],
    [
      'connectors',
      agent === null ? connectors : sidecarConnectors(connectors, permissions, { gateway, own }),
    ],
    ['policies', forGateway(configuration.policies, gatewayId)],
    ['keys', configuration.keys],
    ...permissionShards(permissions),
  ]
  const texts = new Map(
    contents.map(([name, content]) => [name, sectionText(addressed(name, content, protocol))]),
  )
  const hashes = Object.fromEntries([...texts].map(([name, text]) => [name, sha256Hex(text)]))
  return { version: configuration.version, hashes, texts }
}

function addressed(name: string, content: unknown, protocol: number): unknown {
  const section = ENTRY_SECTIONS.get(name.split('.')[0] ?? name)
  if (section === undefined) return content
  const address = (entry: unknown) => addressedEntry(entry, section, { protocol, additions: FIELD_ADDITIONS })
  return Array.isArray(content) ? content.map(address) : address(content)
}

const ENTRY_SECTIONS: ReadonlyMap<string, EntrySection> = new Map(
  (['gateway', 'agents', 'connectors', 'policies', 'permissions'] as const).map((name) => [name, name]),
)

function gatewaySection({ id, name, spec }: GatewayRow): GatewaySection {
  const { enforcementLevel, defaultDecision, egress, rateLimit, maxActionsPerRequest } = spec
  const { approvals, failurePolicy, audit, killSwitch } = spec
  return {
    id,
    name,
    enforcementLevel,
    defaultDecision,
    egress,
    rateLimit,
    maxActionsPerRequest,
    approvals,
    failurePolicy,
    audit,
    ...(killSwitch?.cancelBatches === true ? { cancelBatches: true } : {}),
  }
}

/**
 * Returns the agents of this gateway and the agents without a gateway. Omits the built-in agent, which sends no
 * requests. When a revoked agent and a later agent have the same name, the later agent is returned. Other revoked
 * agents are included, so that a refusal of their requests gives the reason.
 */
function agentEntries(rows: readonly AgentRow[], gatewayId: string): AgentEntry[] {
  const byName = new Map<string, AgentRow>()
  for (const row of rows) {
    if ((row.gatewayId !== null && row.gatewayId !== gatewayId) || isDemoAgent(row)) continue
    if (row.status !== 'revoked' || !byName.has(row.name)) byName.set(row.name, row)
  }
  return [...byName.values()].map(({ id, name, runtime, environment, status, apiKeySha256 }) => ({
    id,
    name,
    runtime,
    environment,
    status,
    key_sha256: apiKeySha256 === null ? null : Buffer.from(apiKeySha256).toString('hex'),
  }))
}

/** Returns the entries that apply to the gateway. An entry without gateway ids applies to all gateways. */
function forGateway<E>(
  entries: ReadonlyArray<{ readonly gatewayIds: readonly string[]; readonly entry: E }>,
  gatewayId: string,
): E[] {
  return entries
    .filter(({ gatewayIds }) => gatewayIds.length === 0 || gatewayIds.includes(gatewayId))
    .map(({ entry }) => entry)
}

/**
 * Divides the permissions into sixteen sections. The edit of one permission then sends only one sixteenth of the
 * permissions.
 */
function permissionShards(rows: readonly PermissionRow[]): Array<[string, PermissionEntry[]]> {
  const shards = PERMISSION_SECTIONS.map((name): [string, PermissionEntry[]] => [name, []])
  for (const row of rows)
    shards[Number.parseInt(sha256Hex(row.id).slice(0, 1), 16)]?.[1].push(permissionEntry(row))
  for (const [, entries] of shards) entries.sort(byId)
  return shards
}

function permissionEntry(row: PermissionRow): PermissionEntry {
  const { id, decision, reason, source } = row
  const manifest = manifestName(row)
  return {
    id,
    ...agentFields(row.agent),
    connector_type: row.connectorType,
    action_pattern: row.actionPattern,
    decision,
    reason,
    source,
    managed_by: row.managedBy,
    ...(manifest === undefined ? {} : { manifest }),
  }
}

/**
 * Returns the name of the manifest that defines the row. The namespace is omitted for a manifests folder, because all
 * its manifests are in one namespace.
 */
function manifestName({ owner, source }: PermissionRow): string | undefined {
  const [, namespace, name] = owner?.split('/') ?? []
  return source === 'kubernetes' && name !== undefined ? `${namespace}/${name}` : name
}

function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1
}
