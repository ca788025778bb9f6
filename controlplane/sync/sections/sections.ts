import { OWN_PERMISSIONS_SECTION, PERMISSION_SECTIONS } from '../../../core/snapshot/sections.ts'
import type { AgentEntry, GatewaySection, PermissionEntry } from '../../../core/wire/gateway/sync.ts'
import { sha256Hex } from '../../crypto/sha256.ts'
import { type AgentRow, isDemoAgent } from '../../features/agents/rows.ts'
import type { GatewayRow } from '../../features/gateways/rows.ts'
import type { PermissionRow } from '../../features/permissions/rows.ts'
import type { Configuration } from './configuration.ts'
import { type AgentPermissions, createPermissionIndex } from './permission-index.ts'
import type { Section, SectionTexts } from './section-texts.ts'
import { createSidecarConnectors } from './sidecar-share.ts'

/** Sections of one gateway at one version: the exact JSON text of each section, and its SHA-256 in hex. */
export type SectionSet = {
  readonly version: number
  readonly hashes: Readonly<Record<string, string>>
  readonly texts: ReadonlyMap<string, string>
}

/** Returns whether two sets have the same sections with the same content. */
export function hasSameHashes(a: Pick<SectionSet, 'hashes'>, b: Pick<SectionSet, 'hashes'>): boolean {
  if (a.hashes === b.hashes) return true
  const names = Object.keys(a.hashes)
  const isSame = (name: string) => a.hashes[name] === b.hashes[name]
  return names.length === Object.keys(b.hashes).length && names.every(isSame)
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

/** Builds the sections of the gateways of one configuration. */
export type SectionBuilder = {
  /** Builds the sections of a gateway for one receiver. Null when the configuration has no such gateway. */
  build(gatewayId: string, receiver: Receiver): SectionSet | null
}

/**
 * Creates the builder for one configuration. Content that several receivers have in common is built at its first use,
 * and shared. Equal configurations give equal bytes.
 */
export function createSectionBuilder(configuration: Configuration, texts: SectionTexts): SectionBuilder {
  const gateways = new Map<string, GatewaySections>()
  return {
    build(gatewayId, { agent, protocol }) {
      const gateway = configuration.gateways.get(gatewayId)
      if (gateway === undefined) return null
      const key = `${protocol} ${gatewayId}`
      const known = gateways.get(key) ?? createGatewaySections(configuration, gateway, { texts, protocol })
      gateways.set(key, known)
      const sections = agent === null ? known.ofGateway() : known.ofSidecar(agent)
      return {
        version: configuration.version,
        hashes: Object.fromEntries(sections.map(([name, { hash }]) => [name, hash])),
        texts: new Map(sections.map(([name, { text }]) => [name, text])),
      }
    },
  }
}

type NamedSections = ReadonlyArray<readonly [name: string, section: Section]>
/** Sections for the receivers of one gateway and protocol. */
type GatewaySections = {
  ofGateway(): NamedSections
  ofSidecar(agent: string): NamedSections
}

function createGatewaySections(
  configuration: Configuration,
  gateway: GatewayRow,
  { texts, protocol }: { readonly texts: SectionTexts; readonly protocol: number },
): GatewaySections {
  const section = (name: string, content: unknown): [string, Section] => [
    name,
    texts.sectionOf(name, content, protocol),
  ]
  const agents = agentEntries(configuration.agents, gateway.id)
  const agentsByName = new Map(agents.map((entry) => [entry.name, entry]))
  const rows = configuration.permissions.get(gateway.id) ?? []
  const permissions = createPermissionIndex(rows)
  const connectors = forGateway(configuration.connectors, gateway.id)
  const common: NamedSections = [
    section('gateway', gatewaySection(gateway)),
    section('policies', forGateway(configuration.policies, gateway.id)),
    section('keys', configuration.keys),
  ]
  const shardsOf = (of: readonly PermissionRow[]) =>
    permissionShards(of).map(([name, entries]) => section(name, entries))
  const sharedShards = createMemo<NamedSections>()
  const connectorSections = createMemo<[string, Section]>()
  const connectorsOf = createSidecarConnectors(connectors, gateway)

  function permissionsOf({ shared, own }: AgentPermissions): NamedSections {
    const entries = own.map(permissionEntry).sort(byId)
    return [
      ...sharedShards(shared.key, () => shardsOf(shared.rows)),
      section(OWN_PERMISSIONS_SECTION, entries),
    ]
  }

  return {
    ofGateway: () => [
      ...common,
      section('agents', agents),
      section('connectors', connectors),
      ...shardsOf(rows),
    ],
    ofSidecar(agent) {
      const found = permissions.of(agent)
      const entry = agentsByName.get(agent)
      const { key, entries } = connectorsOf(found, entry?.status === 'active')
      return [
        ...common,
        section('agents', entry === undefined ? [] : [entry]),
        connectorSections(key, () => section('connectors', entries())),
        ...permissionsOf(found),
      ]
    },
  }
}

/** Returns a function that makes a value at the first use of its key. */
function createMemo<V>(): (key: string, make: () => V) => V {
  const made = new Map<string, V>()
  return (key, make) => {
    const value = made.get(key) ?? make()
    made.set(key, value)
    return value
  }
}

function gatewaySection({ id, name, spec }: GatewayRow): GatewaySection {
  const { enforcementLevel, defaultDecision, egress, rateLimit, maxActionsPerRequest } = spec
  const { approvals, failurePolicy, audit, killSwitch, refusalDetail } = spec
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
    ...(refusalDetail === 'brief' ? { refusalDetail } : {}),
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
    agent: row.agent,
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
