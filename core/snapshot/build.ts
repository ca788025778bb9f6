import type * as z from 'zod'
import { withoutExposedCredential } from '../connectors/credentials/clear-text.ts'
import { buildHostIndex } from '../connectors/registry.ts'
import { createPermissionIndexBuilder, type PermissionIndex } from '../decision/permissions/permissions.ts'
import { compileStoredPolicy } from '../decision/policies/policy-document.ts'
import { buildPolicyIndex } from '../decision/policies/policy-index.ts'
import { verdictOfRule } from '../decision/vocabulary.ts'
import { ChaperoneError } from '../errors.ts'
import {
  type AgentEntry,
  type PermissionEntry,
  PermissionShard,
  SECTION_SCHEMAS,
} from '../wire/gateway/sync.ts'
import { LIMITS } from '../wire/limits.ts'
import { PERMISSION_SECTIONS, SECTION_NAMES } from './sections.ts'
import type { Snapshot } from './snapshot.ts'

export type SnapshotInput = {
  readonly version: number
  /** Content of the received sections by name. Sections with the same hash as in `previous` may be absent. */
  readonly sections: Readonly<Record<string, unknown>>
  /** Hex SHA-256 of every section by its name. */
  readonly hashes: Readonly<Record<string, string>>
}

/**
 * Builds one frozen snapshot from sections. Reuses unchanged parts of `previous` (by hash) and validates the rest
 * completely first. Throws ChaperoneError `validation` with section and path; then `previous` stays in force.
 */
export function buildSnapshot(input: SnapshotInput, previous?: Snapshot): Snapshot {
  const steps = buildSnapshotInSteps(input, previous)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/**
 * Builds a snapshot like `buildSnapshot`, in slices of a few milliseconds. It yields between them, so that traffic
 * continues.
 */
export function* buildSnapshotInSteps(input: SnapshotInput, previous?: Snapshot): Generator<void, Snapshot> {
  assertComplete(input, previous)
  const isSame = (name: string): boolean => previous?.sections[name] === input.hashes[name]
  const read = <T>(name: string, schema: z.ZodType<T>): T => validated(name, schema, input.sections[name])
  const kept = (name: string): Snapshot | undefined => (isSame(name) ? previous : undefined)

  const gateway = kept('gateway')?.gateway ?? gatewayOf(read('gateway', SECTION_SCHEMAS.gateway))
  const agentsByName = kept('agents')?.agentsByName ?? agentsOf(read('agents', SECTION_SCHEMAS.agents))
  const keys = kept('keys')?.keys ?? read('keys', SECTION_SCHEMAS.keys)
  yield
  const hosts = kept('connectors')?.hosts ?? hostsOf(read('connectors', SECTION_SCHEMAS.connectors))
  yield
  const policies = kept('policies')?.policies ?? policiesOf(read('policies', SECTION_SCHEMAS.policies))
  yield
  const { permissionShards, permissions } = yield* permissionsOf(input, previous, isSame)
  return Object.freeze({
    version: input.version,
    gateway,
    agentsByName,
    hosts,
    permissions,
    policies,
    keys,
    sections: Object.freeze({ ...input.hashes }),
    permissionShards,
  })
}

/**
 * Throws if a section is missing or unknown: a missing permission shard could hide a deny, an unknown section a
 * restriction.
 */
function assertComplete({ sections, hashes }: SnapshotInput, previous: Snapshot | undefined): void {
  for (const name of SECTION_NAMES) {
    if (hashes[name] === undefined) throw refused(name, 'is not in the section index')
    if (sections[name] === undefined && previous?.sections[name] !== hashes[name])
      throw refused(name, 'is missing')
  }
  const unknown = Object.keys(hashes).find((name) => !SECTION_NAMES.includes(name))
  if (unknown !== undefined) throw refused(unknown, 'is unknown to this version; upgrade the gateway')
}

function gatewayOf(section: z.infer<typeof SECTION_SCHEMAS.gateway>): Snapshot['gateway'] {
  return Object.freeze({
    ...section,
    level: section.enforcementLevel,
    defaultVerdict: verdictOfRule(section.defaultDecision),
  })
}

/**
 * Returns the agents by name. Names are unique among agents that are not revoked, and a revoked agent never hides its
 * successor.
 */
function agentsOf(entries: readonly AgentEntry[]): ReadonlyMap<string, AgentEntry> {
  const byName = new Map<string, AgentEntry>()
  for (const entry of entries) {
    const known = byName.get(entry.name)
    if (known !== undefined && known.status !== 'revoked' && entry.status !== 'revoked') {
      throw refused('agents', `two agents are called "${entry.name}"; rename one`)
    }
    if (known === undefined || known.status === 'revoked') byName.set(entry.name, entry)
  }
  return byName
}

function hostsOf(entries: z.infer<typeof SECTION_SCHEMAS.connectors>): Snapshot['hosts'] {
  return located('connectors', () => buildHostIndex(entries.map(withoutExposedCredential)))
}

function policiesOf(entries: z.infer<typeof SECTION_SCHEMAS.policies>): Snapshot['policies'] {
  if (entries.length > LIMITS.maxPolicies + LIMITS.maxBuiltInPolicies)
    throw refused('policies', `more than ${LIMITS.maxPolicies} policies`)
  return buildPolicyIndex(
    entries.map((entry) => located(`policies: "${entry.name}"`, () => compileStoredPolicy(entry))),
  )
}

type Permissions = {
  readonly permissions: PermissionIndex
  readonly permissionShards: ReadonlyMap<string, readonly PermissionEntry[]>
}

function* permissionsOf(
  input: SnapshotInput,
  previous: Snapshot | undefined,
  isSame: (name: string) => boolean,
): Generator<void, Permissions> {
  const known = previous?.permissionShards
  if (previous !== undefined && known !== undefined && PERMISSION_SECTIONS.every(isSame)) {
    return { permissions: previous.permissions, permissionShards: known }
  }
  const builder = createPermissionIndexBuilder()
  const permissionShards = new Map<string, readonly PermissionEntry[]>()
  for (const name of PERMISSION_SECTIONS) {
    const own = isSame(name) ? known?.get(name) : undefined
    const entries = own ?? validated(name, PermissionShard, input.sections[name])
    permissionShards.set(name, entries)
    builder.add(entries)
    yield
  }
  const permissions = builder.finish()
  if (permissions.size > LIMITS.maxPermissions) {
    throw refused(
      'permissions',
      `${permissions.size} permissions, at most ${LIMITS.maxPermissions} are allowed`,
    )
  }
  return { permissions, permissionShards }
}

function validated<T>(name: string, schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { issues } = result.error
  throw refused(
    name,
    issues.map(({ path, message }) => `${path.join('.') || 'content'}: ${message}`).join('; '),
  )
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
