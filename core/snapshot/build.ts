import { withoutExposedCredential } from '../connectors/credentials/clear-text.ts'
import { buildHostIndex } from '../connectors/registry.ts'
import {
  createPermissionIndexBuilder,
  type PermissionIndex,
} from '../decision/permissions/permission-index.ts'
import { compileStoredPolicy } from '../decision/policies/compile-policy.ts'
import { buildPolicyIndex, type PolicyIndex } from '../decision/policies/policy-index.ts'
import { verdictOfRule } from '../decision/vocabulary.ts'
import { ChaperoneError } from '../errors.ts'
import type {
  AgentEntry,
  ConnectorEntry,
  GatewaySection,
  PermissionEntry,
  PolicyEntry,
} from '../wire/gateway/sync.ts'
import { LIMITS } from '../wire/schema/limits.ts'
import type { EntryReader } from './read-section.ts'
import { READERS } from './readers.ts'
import { OWN_PERMISSIONS_SECTION, PERMISSION_SECTIONS, SECTION_NAMES } from './sections.ts'
import type { NotUnderstood, Snapshot } from './snapshot.ts'
import { isDenialOfEntry } from './stand-ins.ts'

export type SnapshotInput = {
  readonly version: number
  /** Content of the received sections by name. A section may be absent if `previous` has the same hash for it. */
  readonly sections: Readonly<Record<string, unknown>>
  /** Hex SHA-256 of every section, by name. */
  readonly hashes: Readonly<Record<string, string>>
}

/**
 * Builds one frozen snapshot from sections. Reuses the parts of `previous` whose hash is unchanged, and validates all
 * others completely before it builds. Throws ChaperoneError `validation` with section and path; the gateway must then
 * keep `previous`.
 */
export function buildSnapshot(input: SnapshotInput, previous?: Snapshot): Snapshot {
  const steps = buildSnapshotInSteps(input, previous)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/**
 * Builds a snapshot like `buildSnapshot`, in slices of a few milliseconds. Yields between the slices, so that the
 * gateway can serve traffic.
 */
export function* buildSnapshotInSteps(input: SnapshotInput, previous?: Snapshot): Generator<void, Snapshot> {
  assertComplete(input, previous)
  const reading = readingOf(input, previous)
  const { kept, read } = reading
  const gateway = kept('gateway')?.gateway ?? gatewayOf(read('gateway', READERS.gateway))
  const agentsByName = kept('agents')?.agentsByName ?? agentsOf(read('agents', READERS.agents))
  const keys = kept('keys')?.keys ?? read('keys', READERS.keys)
  yield
  const hosts = kept('connectors')?.hosts ?? hostsOf(read('connectors', READERS.connectors))
  yield
  const own = kept('policies')?.policies.all.filter((policy) => !isDenialOfEntry(policy))
  const compiled = own ?? compiledPolicies(read('policies', READERS.policies))
  yield
  const { permissionShards, permissions } = yield* permissionsOf(reading, previous)
  const notUnderstood = reading.notUnderstood()
  return Object.freeze({
    version: input.version,
    gateway: withEgressClosed(gateway, notUnderstood),
    agentsByName,
    hosts,
    permissions,
    policies: withDenials(compiled, notUnderstood, kept('policies')),
    keys,
    sections: Object.freeze({ ...input.hashes }),
    permissionShards,
    ...(notUnderstood.size === 0 ? {} : { notUnderstood }),
  })
}

type Reading = {
  /** Returns the previous snapshot if its section has the same hash; otherwise undefined. */
  kept(section: string): Snapshot | undefined
  /**
   * Parses a section, and collects its entries that this version does not understand. Throws ChaperoneError
   * `validation` for an invalid section.
   */
  read<E>(section: string, reader: EntryReader<E>): readonly E[]
  /** Names of the permission sections in the section index. */
  readonly permissionSections: readonly string[]
  /**
   * Returns the section entries that this version does not understand, by section, including those of reused sections.
   */
  notUnderstood(): ReadonlyMap<string, readonly NotUnderstood[]>
}

function readingOf({ sections, hashes }: SnapshotInput, previous: Snapshot | undefined): Reading {
  const noted = new Map<string, readonly NotUnderstood[]>()
  const kept = (name: string) => (previous?.sections[name] === hashes[name] ? previous : undefined)
  return {
    kept,
    read(name, reader) {
      const content = sections[name]
      const result = reader(content)
      if ('problem' in result) throw refused(name, result.problem)
      if (result.notUnderstood.length > 0) noted.set(name, result.notUnderstood)
      return result.entries
    },
    permissionSections: [...PERMISSION_SECTIONS, ...ownSection(hashes)],
    notUnderstood() {
      const before = [...(previous?.notUnderstood ?? [])].filter(([name]) => kept(name) !== undefined)
      return new Map([...before, ...noted])
    },
  }
}

/**
 * Throws if a section is missing or unknown. A missing permission section could contain a deny, and an unknown section
 * a restriction.
 */
function assertComplete({ sections, hashes }: SnapshotInput, previous: Snapshot | undefined): void {
  for (const name of [...SECTION_NAMES, ...ownSection(hashes)]) {
    if (hashes[name] === undefined) throw refused(name, 'is not in the section index')
    if (sections[name] === undefined && previous?.sections[name] !== hashes[name])
      throw refused(name, 'is missing')
  }
  const known = new Set([...SECTION_NAMES, OWN_PERMISSIONS_SECTION])
  const unknown = Object.keys(hashes).find((name) => !known.has(name))
  if (unknown !== undefined) throw refused(unknown, 'is unknown to this version; upgrade the gateway')
}

function ownSection(hashes: SnapshotInput['hashes']): readonly string[] {
  return hashes[OWN_PERMISSIONS_SECTION] === undefined ? [] : [OWN_PERMISSIONS_SECTION]
}

function gatewayOf([section]: readonly GatewaySection[]): Snapshot['gateway'] {
  if (section === undefined) throw refused('gateway', 'is empty')
  return Object.freeze({
    ...section,
    level: section.enforcementLevel,
    defaultVerdict: verdictOfRule(section.defaultDecision),
  })
}

/**
 * Sets `egressClosedBy` if this version does not understand a section entry that may cover hosts without a connector.
 * The gateway then refuses all hosts without a connector. Removes the field if there is no such entry.
 */
function withEgressClosed(
  gateway: Snapshot['gateway'],
  notUnderstood: ReadonlyMap<string, readonly NotUnderstood[]>,
): Snapshot['gateway'] {
  const closing = [...notUnderstood.values()].flat().find(({ closesEgress }) => closesEgress)
  if (closing?.warning === gateway.egressClosedBy) return gateway
  const { egressClosedBy: _before, ...open } = gateway
  return Object.freeze(closing === undefined ? open : { ...open, egressClosedBy: closing.warning })
}

/**
 * Returns the agents by name. Names are unique among agents that are not revoked, and a revoked agent never replaces
 * an agent that reuses its name.
 */
function agentsOf(entries: readonly AgentEntry[]): ReadonlyMap<string, AgentEntry> {
  const byName = new Map<string, AgentEntry>()
  for (const entry of entries) {
    const known = byName.get(entry.name)
    if (known !== undefined && known.status !== 'revoked' && entry.status !== 'revoked') {
      throw refused('agents', `two agents have the name "${entry.name}"; rename one of them`)
    }
    if (known === undefined || known.status === 'revoked') byName.set(entry.name, entry)
  }
  return byName
}

function hostsOf(entries: readonly ConnectorEntry[]): Snapshot['hosts'] {
  return located('connectors', () => buildHostIndex(entries.map(withoutExposedCredential)))
}

type CompiledPolicies = PolicyIndex['all']

function compiledPolicies(entries: readonly PolicyEntry[]): CompiledPolicies {
  if (entries.length > LIMITS.maxPolicies + LIMITS.maxBuiltInPolicies)
    throw refused(
      'policies',
      `there are more than ${LIMITS.maxPolicies} policies, which is the maximum; delete some`,
    )
  return entries.map((entry) => located(`policies: "${entry.name}"`, () => compileStoredPolicy(entry)))
}

/**
 * Returns the policies, and for each section entry that this version does not understand a policy that denies the scope
 * of the entry. Returns the policies of `kept`, the previous snapshot, if neither snapshot has such denials.
 */
function withDenials(
  compiled: CompiledPolicies,
  notUnderstood: ReadonlyMap<string, readonly NotUnderstood[]>,
  kept: Snapshot | undefined,
): PolicyIndex {
  const denials = [...notUnderstood.values()].flat().flatMap(({ denial }) => denial ?? [])
  const before = kept?.policies.all.filter(isDenialOfEntry) ?? []
  if (kept !== undefined && denials.length === 0 && before.length === 0) return kept.policies
  return buildPolicyIndex([...compiled, ...denials.map(compileStoredPolicy)])
}

type Permissions = {
  readonly permissions: PermissionIndex
  readonly permissionShards: ReadonlyMap<string, readonly PermissionEntry[]>
}

function* permissionsOf(
  { kept, read, permissionSections: names }: Reading,
  previous: Snapshot | undefined,
): Generator<void, Permissions> {
  const known = previous?.permissionShards
  const isSame = (name: string) => kept(name) !== undefined
  if (previous !== undefined && known?.size === names.length && names.every(isSame)) {
    return { permissions: previous.permissions, permissionShards: known }
  }
  const builder = createPermissionIndexBuilder()
  const permissionShards = new Map<string, readonly PermissionEntry[]>()
  for (const name of names) {
    const own = isSame(name) ? known?.get(name) : undefined
    const entries = own ?? read(name, READERS.permissions)
    permissionShards.set(name, entries)
    builder.add(entries)
    yield
  }
  const permissions = builder.finish()
  if (permissions.size > LIMITS.maxPermissions) {
    throw refused(
      'permissions',
      `there are ${permissions.size} permissions, but at most ${LIMITS.maxPermissions} are allowed; delete some`,
    )
  }
  return { permissions, permissionShards }
}

function located<T>(place: string, build: () => T): T {
  try {
    return build()
  } catch (cause) {
    if (!(cause instanceof ChaperoneError)) throw cause
    throw new ChaperoneError('validation', { detail: `section ${place}: ${cause.message}`, cause })
  }
}

function refused(name: string, problem: string): ChaperoneError {
  return new ChaperoneError('validation', { detail: `section ${name}: ${problem}` })
}
