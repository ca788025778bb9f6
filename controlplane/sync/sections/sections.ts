import { OWN_PERMISSIONS_SECTION, PERMISSION_SECTIONS } from '../../../core/snapshot/sections.ts'
import type { AgentEntry, GatewaySection, PermissionEntry } from '../../../core/wire/gateway/sync.ts'
import { sha256Hex } from '../../../runtime/sha256.ts'
import { type AgentRow, isDemoAgent } from '../../features/agents/rows.ts'
import type { GatewayRow } from '../../features/gateways/rows.ts'
import type { PermissionRow } from '../../features/permissions/rows.ts'
import type { Configuration } from './configuration.ts'
import { type AgentPermissions, createPermissionIndex } from './permission-index.ts'
import type { Section, SectionTexts } from './section-texts.ts'
import { createSidecarConnectors } from './sidecar-share.ts'
import { complete, inSteps, type Steps } from './steps.ts'

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
  /** Builds the sections of a gateway for one receiver. Returns null when the configuration has no such gateway. */
  build(gatewayId: string, receiver: Receiver): SectionSet | null
  /**
   * Builds the same sections as `build`, in steps, so that the caller can yield to the event loop between two
   * steps.
   */
  stepsOf(gatewayId: string, receiver: Receiver): Steps<SectionSet | null>
}

/**
 * Creates the builder for one configuration. Content that several receivers have in common is built at its first use,
 * and shared. Equal configurations give equal bytes.
 */
export function createSectionBuilder(configuration: Configuration, texts: SectionTexts): SectionBuilder {
  const gateways = createMemo<GatewaySections>()
  function* stepsOf(gatewayId: string, { agent, protocol }: Receiver): Steps<SectionSet | null> {
    const gateway = configuration.gateways.get(gatewayId)
    if (gateway === undefined) return null
    const of = yield* gateways(`${protocol} ${gatewayId}`, () =>
      gatewaySections(configuration, gateway, { texts, protocol }),
    )
    const sections = yield* agent === null ? of.gateway() : of.sidecar(agent)
    return {
      version: configuration.version,
      hashes: Object.fromEntries(sections.map(([name, { hash }]) => [name, hash])),
      texts: new Map(sections.map(([name, { text }]) => [name, text])),
    }
  }
  return { build: (gatewayId, receiver) => complete(stepsOf(gatewayId, receiver)), stepsOf }
}

type NamedSections = ReadonlyArray<readonly [name: string, section: Section]>
/** Sections for the receivers of one gateway and protocol. */
type GatewaySections = {
  gateway(): Steps<NamedSections>
  sidecar(agent: string): Steps<NamedSections>
}

function* gatewaySections(
  configuration: Configuration,
  gateway: GatewayRow,
  { texts, protocol }: { readonly texts: SectionTexts; readonly protocol: number },
): Steps<GatewaySections> {
  function* section(name: string, content: unknown): Steps<readonly [string, Section]> {
    return [name, yield* texts.stepsOf(name, content, protocol)]
  }
  const agents = agentEntries(configuration.agents, gateway.id)
  const agentsByName = new Map(agents.map((entry) => [entry.name, entry]))
  const rows = configuration.permissions.get(gateway.id) ?? []
  const permissions = yield* createPermissionIndex(rows)
  const connectors = forGateway(configuration.connectors, gateway.id)
  const common: NamedSections = [
    yield* section('gateway', gatewaySection(gateway)),
    yield* section('policies', forGateway(configuration.policies, gateway.id)),
    yield* section('keys', configuration.keys),
  ]
  const whole = createMemo<NamedSections>()
  const sharedShards = createMemo<NamedSections>()
  const connectorSections = createMemo<readonly [string, Section]>()
  const connectorsOf = createSidecarConnectors(connectors, gateway)

  function* shardsOf(of: readonly PermissionRow[]): Steps<NamedSections> {
    const sections: Array<readonly [string, Section]> = []
    for (const [name, entries] of yield* permissionShards(of)) sections.push(yield* section(name, entries))
    return sections
  }

  function* permissionsOf({ shared, own }: AgentPermissions): Steps<NamedSections> {
    const entries = own.map(permissionEntry).sort(byId)
    return [
      ...(yield* sharedShards(shared.key, () => shardsOf(shared.rows))),
      yield* section(OWN_PERMISSIONS_SECTION, entries),
    ]
  }

  function* allOf(): Steps<NamedSections> {
    return [
      ...common,
      yield* section('agents', agents),
      yield* section('connectors', connectors),
      ...(yield* shardsOf(rows)),
    ]
  }

  return {
    gateway: () => whole('gateway', allOf),
    *sidecar(agent) {
      const found = permissions.of(agent)
      const entry = agentsByName.get(agent)
      const { key, entries } = connectorsOf(found, entry?.status === 'active')
      return [
        ...common,
        yield* section('agents', entry === undefined ? [] : [entry]),
        yield* connectorSections(key, () => section('connectors', entries())),
        ...(yield* permissionsOf(found)),
      ]
    },
  }
}

/**
 * Creates a cache. The returned function returns the cached value of a key; at the first use of the key, it makes the
 * value in steps.
 */
function createMemo<V>(): (key: string, make: () => Steps<V>) => Steps<V> {
  const made = new Map<string, V>()
  return function* (key, make) {
    const known = made.get(key)
    if (known !== undefined) return known
    const value = yield* make()
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
 * agents are included, so that the refusal of their requests states the reason.
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
 * Divides the permissions into sixteen sections. When one permission changes, only one sixteenth of the permissions
 * is sent.
 */
function* permissionShards(rows: readonly PermissionRow[]): Steps<Array<[string, PermissionEntry[]]>> {
  const shards = PERMISSION_SECTIONS.map((name): [string, PermissionEntry[]] => [name, []])
  yield* inSteps(rows, (some) => {
    for (const row of some)
      shards[Number.parseInt(sha256Hex(row.id).slice(0, 1), 16)]?.[1].push(permissionEntry(row))
  })
  yield* inSteps(shards, (some) => {
    for (const [, entries] of some) entries.sort(byId)
  })
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
