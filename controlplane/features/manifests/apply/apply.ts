import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { ConnectorSpec } from '../../../../core/crd/connector-spec.ts'
import { hasLocalSource, NOTHING_STORED } from '../../../../core/crd/credentials/credential-spec.ts'
import { GatewaySpec } from '../../../../core/crd/gateway/gateway-spec.ts'
import { PolicySpec } from '../../../../core/crd/policy/policy-spec.ts'
import { PermissionSpec, type ResourceKind } from '../../../../core/crd/schemas.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { parseFields } from '../../../../core/schema/parse-fields.ts'
import type { Keyring } from '../../../crypto/keyring.ts'
import { sealedPlace } from '../../../crypto/sealed-places.ts'
import type { Query } from '../../../db/query.ts'
import { replaceStoredCredential } from '../../connectors/service.ts'
import { readCredential } from '../../credentials/rows.ts'
import { storedClaims } from '../hosts/host-claims.ts'
import { referencesTo, sharedReferences } from '../references.ts'
import type { ManifestRow, ObjectKey } from '../rows.ts'
import { schemaReasons } from '../schema-reasons.ts'
import { fullNameOf } from '../store.ts'
import { connectorApplier } from './connector.ts'
import { type Applied, type Applier, type ApplyContext, type ManifestObject, refused } from './context.ts'
import { gatewayApplier } from './gateway.ts'
import { permissionApplier } from './permission.ts'
import { policyApplier } from './policy.ts'

type Appliers = { readonly [K in ResourceKind]: Applier<K> }

const APPLIERS: Appliers = {
  Gateway: gatewayApplier,
  Connector: connectorApplier,
  Permission: permissionApplier,
  Policy: policyApplier,
}
const SPECS = {
  Gateway: GatewaySpec,
  Connector: ConnectorSpec,
  Permission: PermissionSpec,
  Policy: PolicySpec,
}

/** Applies one stored manifest object and returns the result. */
export async function applyOne(context: ApplyContext, row: ManifestRow): Promise<Applied> {
  const { kind, stored } = row
  const parsed = parseFields<z.ZodType>(SPECS[kind], stored.spec, { kind, parent: ['spec'] })
  const problems = stored.problems ?? []
  const object = {
    ...row,
    fullName: fullNameOf(row),
    boundBefore: stored.bound ?? [],
    claims: storedClaims(row),
    credential: await credentialInForce(context, row),
  }
  const applier = applierOf(kind)
  const applied =
    parsed.problems === null && problems.length === 0
      ? await applier.apply(context, { ...object, spec: parsed.data } as ManifestObject)
      : await refuse(context, {
          object: { ...object, spec: stored.spec } as ManifestObject,
          reasons: problems.length > 0 ? problems : schemaReasons(parsed.problems ?? []),
        })
  const isStated = applied.accepted || applied.inForce !== 'nothing'
  return isStated ? applied : { ...applied, inForce: await applier.inForce(context, row) }
}

const Named = z.object({
  credential: z.object({
    vault: z.string().optional(),
    env: z.unknown().optional(),
    file: z.unknown().optional(),
    exec: z.unknown().optional(),
  }),
})

/**
 * Returns the credential of the object: the value of its Secret, or the value in the encrypted store that the object
 * names. Objects of a cluster have no access to the encrypted store. Returns `NOTHING_STORED` for a Connector whose
 * credential the control plane reads from an environment variable, file or command.
 */
async function credentialInForce(context: ApplyContext, row: ManifestRow): Promise<string | null> {
  if (row.kind !== 'Connector') return credentialOf(context.keyring, row)
  const { credential } = Named.safeParse(row.stored.spec).data ?? {}
  if (hasLocalSource(credential)) return NOTHING_STORED
  if (row.source !== 'file' || credential?.vault === undefined) return credentialOf(context.keyring, row)
  return readCredential(context.q, context, credential.vault)
}

async function refuse(
  context: ApplyContext,
  { object, reasons }: { object: ManifestObject; reasons: readonly string[] },
): Promise<Applied> {
  const { refuse: ownRefusal } = applierOf(object.kind)
  return ownRefusal === undefined
    ? refused({ reasons, problem: 'Invalid' })
    : ownRefusal(context, object, reasons)
}

/**
 * Applies again the objects that a change affects: objects that reference a Gateway whose admission rules changed, and
 * refused Connectors that may get a host of a changed Connector. `changed` contains each row in its new and its old
 * version. Returns true when the configuration in force changed.
 */
export async function applyOthers(context: ApplyContext, changed: readonly ManifestRow[]): Promise<boolean> {
  const { objects, reads } = context
  const known = new Set(changed.map(nameOf))
  const rebound = reads.rebound()
  const bound = rebound.size === 0 ? [] : await objects.referring(referencesTo(rebound))
  const boundAnew = bound.filter((row) => !known.has(nameOf(row)) || isWaiting(row))
  const connectors = await waitingBeside(
    context,
    changed.filter(({ kind }) => kind === 'Connector'),
  )
  const rows = new Map([...boundAnew, ...connectors].map((row) => [nameOf(row), row]))
  return applyAgain(context, [...rows.values()].sort(byName))
}

/** Reports whether the object is refused, or has no effect at some referenced Gateways. */
function isWaiting({ accepted, stored }: ManifestRow): boolean {
  return !accepted || (stored.outcome?.problem ?? null) !== null
}

/**
 * Applies again the objects of namespaces whose admission by Gateways may have changed. Returns true when the
 * configuration in force changed.
 */
export async function applyOfNamespaces(context: ApplyContext, names: readonly string[]): Promise<boolean> {
  if (names.length === 0) return false
  return applyAgain(context, await context.objects.ofNamespaces(names))
}

export async function applyPolicies(context: ApplyContext): Promise<boolean> {
  return applyAgain(context, await context.objects.policies())
}

/**
 * Changes the encrypted store, and applies the Connectors whose manifests name this credential. Throws `conflict` when
 * the new credential causes the refusal of a Connector that was accepted before. Connectors that were refused before do
 * not prevent the change.
 */
export async function applyOfCredential(
  context: ApplyContext,
  name: string,
  change: (q: Query) => Promise<void>,
): Promise<boolean> {
  const { q, objects } = context
  const before = (await objects.ofCredential(name)).filter(({ accepted }) => accepted).map(nameOf)
  await change(q)
  const isChanged = await applyAgain(context, await objects.ofCredential(name))
  const secret = await readCredential(q, context, name)
  if (secret !== null)
    refuseRefused((await objects.ofCredential(name)).filter((row) => before.includes(nameOf(row))))
  // A refused manifest is not applied again. Its last accepted version stays in force and must get the stored
  // credential.
  const isReplaced = await replaceStoredCredential(q, context.keyring, { name, secret })
  return isChanged || isReplaced
}

/** Throws `conflict` with the reasons when one of the Connectors is refused. */
function refuseRefused(rows: readonly ManifestRow[]): void {
  const refused = rows.find(({ accepted }) => !accepted)
  if (refused === undefined) return
  throw new ChaperoneError('conflict', {
    detail: `The connector ${fullNameOf(refused)} (${refused.managedBy}) is refused with this credential: ${refused.reasons.join('; ')}.`,
  })
}

/**
 * Applies objects again. A Connector that comes into force may take hosts from another Connector, and a Connector that
 * lost a Gateway may free hosts. Connectors that such a change affects are then evaluated too.
 */
async function applyAgain(context: ApplyContext, rows: readonly ManifestRow[]): Promise<boolean> {
  let isChanged = false
  let pending = rows
  await context.reads.prefetch(rows)
  for (let round = 0; pending.length > 0 && round < MAX_ROUNDS; round++) {
    const changed: ManifestRow[] = []
    for (const row of pending) if (await judgeAgain(context, row)) changed.push(row)
    isChanged ||= changed.length > 0
    pending = await waitingBeside(
      context,
      changed.filter(({ kind }) => kind === 'Connector'),
    )
  }
  return isChanged
}

async function judgeAgain(context: ApplyContext, row: ManifestRow): Promise<boolean> {
  const applied = await applyOne(context, row)
  const next = withOutcome(row, applied)
  if (!isDeepStrictEqual(plain(next), plain(row))) context.objects.put(next)
  return applied.changed
}

/**
 * Returns the Connectors that share a Gateway with these Connectors and are refused, or have no effect at some
 * referenced Gateways.
 */
async function waitingBeside(
  { objects }: ApplyContext,
  moved: readonly ManifestRow[],
): Promise<readonly ManifestRow[]> {
  return moved.length === 0 ? [] : objects.waitingConnectors(sharedReferences(moved))
}

function byName(a: ManifestRow, b: ManifestRow): number {
  return nameOf(a) < nameOf(b) ? -1 : 1
}

/**
 * Maximum number of rounds in which host conflicts are resolved. Each round settles at least the oldest claim to a
 * disputed host. Connectors that need all their domains can displace each other in a cycle; in this case, the result of
 * the last round stays in force until another change. In any result, each host has at most one connector.
 */
const MAX_ROUNDS = 8

/** Removes the rows that the object put in force. Returns true when at least one row was removed. */
export function removeOne(context: ApplyContext, key: ObjectKey): Promise<boolean> {
  return applierOf(key.kind).remove(context, key)
}

export function withOutcome(row: ManifestRow, applied: Applied): ManifestRow {
  const { accepted, reasons, warnings, problem, tests, inForce, bound } = applied
  const gateways = applied.gateways === null ? null : [...applied.gateways]
  return {
    ...row,
    accepted,
    reasons,
    stored: { ...row.stored, warnings, bound, outcome: { problem, gateways, tests, in_force: inForce } },
  }
}

/**
 * Reports whether two rows are equal. Compares credentials in plain text, because two encryptions of the same text
 * differ.
 */
export function isSameRow(keyring: Keyring, a: ManifestRow, b: ManifestRow): boolean {
  const open = ({ stored, ...row }: ManifestRow) => ({
    ...row,
    ...stored,
    credential: credentialOf(keyring, { ...row, stored }),
  })
  return isDeepStrictEqual(plain(open(a)), plain(open(b)))
}

export function nameOf({
  kind,
  namespace,
  name,
}: {
  readonly kind: string
  readonly namespace: string
  readonly name: string
}): string {
  return `${kind}/${namespace}/${name}`
}

function credentialOf(keyring: Keyring, row: ManifestRow): string | null {
  const sealed = row.stored.credential
  return sealed === null ? null : keyring.open(sealed, sealedPlace.manifest(row))
}

function applierOf<K extends ResourceKind>(kind: K): Applier<ResourceKind> {
  return APPLIERS[kind] as unknown as Applier<ResourceKind>
}

/** Returns the value in the form in which the JSON column returns it: without undefined members. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
