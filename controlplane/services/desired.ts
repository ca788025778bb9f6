import { isDeepStrictEqual } from 'node:util'
import {
  ConnectorSpec,
  GatewaySpec,
  PermissionSpec,
  PolicySpec,
  type ResourceKind,
} from '../../core/crd/schemas.ts'
import {
  acknowledgedBy,
  type DesiredBody,
  type DesiredReply,
  type GatewayProcess,
  type ManifestProblem,
  type SweepBody,
  type SweepReply,
} from '../../core/wire/operator.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { bumpVersion, currentVersion } from '../store/config-version.ts'
import {
  type DesiredRow,
  deleteDesired,
  desiredPlace,
  getDesired,
  type JudgedRow,
  listDesired,
  listProblems,
  lockDesired,
  type ManifestSource,
  type ObjectKey,
  putDesired,
  replaceProblems,
} from '../store/desired.ts'
import type { Db } from '../store/query.ts'
import { connectorApplier } from './desired-connector.ts'
import {
  type Applied,
  type Applier,
  type ApplyContext,
  fullNameOf,
  type ManifestObject,
} from './desired-context.ts'
import { gatewayApplier } from './desired-gateway.ts'
import { permissionApplier } from './desired-permission.ts'
import { policyApplier } from './desired-policy.ts'

export type DesiredDeps = Omit<ApplyContext, 'q'> & {
  readonly db: Db
  /** Every gateway process that is known, for "acknowledged n of m". */
  readonly processes?: () => readonly GatewayProcess[]
}
type PutContext = ApplyContext & { readonly processes: () => readonly GatewayProcess[] }

export type ManifestsView = {
  readonly objects: ReadonlyArray<Record<string, unknown>>
  readonly problems: readonly ManifestProblem[]
  readonly config_version: number
}

/** Makes the installation what its manifests say. Each call is one transaction; nothing new = nothing written. */
export type Desired = {
  put(body: DesiredBody): Promise<DesiredReply>
  /** What became of one object, and how many gateways acknowledged it; undefined when there is none. */
  get(key: ObjectKey): Promise<DesiredReply | undefined>
  /** False when there was no such object. */
  remove(key: ObjectKey): Promise<boolean>
  /** Removes what this source does not have any more, but for objects of files that are broken right now. */
  sweep(body: SweepBody): Promise<SweepReply>
  problems(source: ManifestSource, problems: readonly ManifestProblem[]): Promise<void>
  list(): Promise<ManifestsView>
}

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

export function createDesired(deps: DesiredDeps): Desired {
  const { db, processes = () => [] } = deps
  const inTransaction = <T>(work: (context: PutContext) => Promise<T>) =>
    db.tx(async (q) => {
      await lockDesired(q)
      return work({ ...deps, q, processes })
    })
  return {
    put: (body) => inTransaction((context) => put(context, body)),
    async get(key) {
      const row = await getDesired(db, key)
      return row === undefined ? undefined : reply({ ...deps, q: db, processes }, row)
    },
    remove: (key) =>
      inTransaction(async (context) => {
        const row = await getDesired(context.q, key)
        if (row === undefined) return false
        if (await removeAll(context, [row])) await bumpVersion(context.q)
        return true
      }),
    sweep: (body) => inTransaction((context) => sweep(context, body)),
    async problems(source, problems) {
      const known = (await listProblems(db)).filter((problem) => problem.source === source)
      const plain = known.map(({ file, line, message }) => ({ file, line, message }))
      if (isDeepStrictEqual(sortedProblems(plain), sortedProblems(problems))) return
      await db.tx((q) => replaceProblems(q, source, problems))
    },
    async list() {
      const objects = (await listDesired(db)).map(objectView)
      const problems = (await listProblems(db)).map(({ file, line, message }) => ({ file, line, message }))
      return { objects, problems, config_version: await currentVersion(db) }
    },
  }
}

async function put(context: PutContext, body: DesiredBody): Promise<DesiredReply> {
  const { q } = context
  const key = keyOf(body)
  const known = await getDesired(q, key)
  if (known !== undefined && isOlder(body, known)) return reply(context, known)
  const wanted = desiredOf(context, body, known)
  const applied = await applyOne(context, wanted)
  const row = withOutcome(wanted, applied)
  if (known === undefined || !isSameRow(context.keyring, known, row)) await putDesired(q, row)
  const others = applied.changed && affectsOthers(key.kind) ? await applyOthers(context, key) : false
  if (applied.changed || others) await bumpVersion(q)
  return reply(context, row)
}

/** A hand-over that overtook another one on its way; only a cluster counts generations. */
function isOlder(body: DesiredBody, known: DesiredRow): boolean {
  return body.source === 'kubernetes' && body.uid === known.uid && body.generation < known.generation
}

function desiredOf({ keyring }: ApplyContext, body: DesiredBody, known: DesiredRow | undefined): DesiredRow {
  const key = keyOf(body)
  const { uid, generation, source, managed_by: managedBy, resource, credential } = body
  const sealed = typeof credential === 'string' ? keyring.seal(credential, desiredPlace(key)) : null
  // Not said = not known at the moment: then the one that is stored stays.
  const kept = credential === undefined ? (known?.stored.credential ?? null) : sealed
  const spec = 'spec' in resource ? resource.spec : {}
  const stored = { spec, credential: kept, warnings: [] }
  return { ...key, uid, generation, source, managedBy, accepted: false, reasons: [], stored }
}

function withOutcome(row: DesiredRow, applied: Applied): DesiredRow {
  const { accepted, reasons, warnings, problem, tests } = applied
  const gateways = applied.gateways === null ? null : [...applied.gateways]
  return {
    ...row,
    accepted,
    reasons,
    stored: { ...row.stored, warnings, outcome: { problem, gateways, tests } },
  }
}

/** Sealing the same secret twice gives different bytes: compare what is inside. */
function isSameRow(keyring: Keyring, a: DesiredRow, b: DesiredRow): boolean {
  const open = ({ stored, ...row }: DesiredRow) => ({
    ...row,
    spec: stored.spec,
    warnings: stored.warnings,
    outcome: stored.outcome,
    credential: credentialOf(keyring, { ...row, stored }),
  })
  return isDeepStrictEqual(plain(open(a)), plain(open(b)))
}

async function applyOne(context: ApplyContext, row: DesiredRow): Promise<Applied> {
  const object = {
    ...row,
    fullName: fullNameOf(row),
    spec: SPECS[row.kind].parse(row.stored.spec),
    credential: credentialOf(context.keyring, row),
  }
  return applierOf(row.kind).apply(context, object as ManifestObject<typeof row.kind>)
}

/**
 * Objects that name a gateway, or wait for a domain, are looked at again when a gateway or a connector changed.
 * True when that changed what is in force.
 */
async function applyOthers(context: ApplyContext, changed: ObjectKey): Promise<boolean> {
  const rows = (await listDesired(context.q)).filter(
    (row) => row.kind !== 'Gateway' && !isSameKey(row, changed),
  )
  const waiting = changed.kind === 'Gateway' ? rows : rows.filter((row) => !row.accepted)
  let isChanged = false
  for (const row of waiting) {
    const applied = await applyOne(context, row)
    const next = withOutcome(row, applied)
    if (!isDeepStrictEqual(plain(next), plain(row))) await putDesired(context.q, next)
    isChanged ||= applied.changed
  }
  return isChanged
}

async function sweep(context: ApplyContext, body: SweepBody): Promise<SweepReply> {
  const { q } = context
  const rows = await listDesired(q)
  const present = new Set(body.present.map(nameOf))
  const broken = new Set(
    (await listProblems(q)).filter((p) => p.source === body.source).map(({ file }) => file),
  )
  const surplus = rows.filter(
    (row) => row.source === body.source && !present.has(nameOf(row)) && !broken.has(row.managedBy),
  )
  if (await removeAll(context, surplus)) await bumpVersion(q)
  const known = new Map(rows.map((row) => [nameOf(row), row.uid]))
  const missing = body.present
    .filter((object) => known.get(nameOf(object)) !== object.uid)
    .map(({ kind, namespace, name }) => ({ kind, namespace, name }))
  return { removed: surplus.length, missing }
}

async function removeAll(context: ApplyContext, rows: readonly DesiredRow[]): Promise<boolean> {
  let isChanged = false
  for (const row of rows) {
    await deleteDesired(context.q, row)
    isChanged = (await applierOf(row.kind).remove(context, row)) || isChanged
  }
  for (const row of rows.filter(({ kind }) => affectsOthers(kind))) {
    isChanged = (await applyOthers(context, row)) || isChanged
  }
  return isChanged
}

const UNKNOWN = { problem: null, gateways: [], tests: null } as const

async function reply({ q, processes }: PutContext, row: DesiredRow): Promise<DesiredReply> {
  const { accepted, reasons, stored } = row
  const { problem, gateways, tests } = stored.outcome ?? UNKNOWN
  const version = await currentVersion(q)
  const names = gateways === null ? null : [...gateways]
  return {
    ...{ accepted, reasons: [...reasons], problem, warnings: [...stored.warnings] },
    ...{ version, gateways: names, tests },
    acknowledged: acknowledgedBy(processes(), { version, gateways: names }),
  }
}

function objectView(row: JudgedRow): Record<string, unknown> {
  const { kind, namespace, name, source, managedBy, accepted, reasons, stored, generation, judgedAt } = row
  return {
    kind,
    namespace,
    name,
    source,
    managed_by: managedBy,
    generation,
    accepted,
    reasons,
    warnings: stored.warnings,
    judged_at: judgedAt,
  }
}

function keyOf({ resource }: DesiredBody): ObjectKey {
  const { name, namespace } = resource.metadata
  return { kind: resource.kind as ResourceKind, namespace: namespace ?? 'default', name }
}

function credentialOf(keyring: Keyring, row: DesiredRow): string | null {
  const sealed = row.stored.credential
  return sealed === null ? null : keyring.open(sealed, desiredPlace(row))
}

function applierOf<K extends ResourceKind>(kind: K): Applier<ResourceKind> {
  return APPLIERS[kind] as unknown as Applier<ResourceKind>
}

function affectsOthers(kind: ResourceKind): boolean {
  return kind === 'Gateway' || kind === 'Connector'
}

function isSameKey(a: ObjectKey, b: ObjectKey): boolean {
  return nameOf(a) === nameOf(b)
}

function nameOf({ kind, namespace, name }: { kind: string; namespace: string; name: string }): string {
  return `${kind}/${namespace}/${name}`
}

/** As the database gives it back: without undefined members. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

function sortedProblems(problems: readonly ManifestProblem[]): string[] {
  return problems.map(({ file, line, message }) => JSON.stringify([file, line, message])).sort()
}
