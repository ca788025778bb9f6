import { isDeepStrictEqual } from 'node:util'
import type { KnownAction } from '../../../core/action/spec.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import {
  acknowledgedBy,
  type ChangeSetBody,
  type ChangeSetReply,
  type GatewayProcess,
  type ManifestProblem,
  type PushBody,
  type PushReply,
  type SweepBody,
  type SweepReply,
} from '../../../core/wire/operator/operator.ts'
import { bumpVersion, currentVersion } from '../../db/config-version.ts'
import { type NamespaceRow, replaceNamespaces } from '../../db/namespaces.ts'
import type { Db, Query } from '../../db/query.ts'
import { ACCOUNTS_ONLY, type GroupMembers } from '../authentication/cluster/group-members.ts'
import { withClaims } from '../connectors/host-claims.ts'
import { createPolicyChecks } from '../policies/cached-check.ts'
import {
  applyOfNamespaces,
  applyOne,
  applyOthers,
  applyPolicies,
  isSameRow,
  nameOf,
  removeOne,
  withOutcome,
} from './apply.ts'
import { type ApplyContext, answerPlace } from './apply-context.ts'
import { createApplyReads } from './apply-reads.ts'
import { explain, explainedReply, inApplyOrder, keyOf, missingOf, surplusOf } from './change-set.ts'
import { brokenFiles, writeProblems } from './problems.ts'
import {
  type DesiredRow,
  deleteDesired,
  desiredPlace,
  getDesired,
  listDesired,
  lockDesired,
  type ManifestSource,
  type ObjectKey,
  putDesired,
} from './store.ts'
import { inForceOf, type ManifestsView, readManifests } from './view.ts'

export type DesiredDeps = Omit<ApplyContext, 'q' | 'reads' | 'checkPolicy' | 'members'> & {
  /** Membership of approver groups without accounts; none by default. */
  readonly members?: GroupMembers
  /** Returns effect and risk of an action by its name, for the tests of policies. */
  readonly knownAction: (type: string) => KnownAction | null
  readonly db: Db
  /** Returns all known gateway processes, for "acknowledged n of m". */
  readonly processes?: () => readonly GatewayProcess[]
}
type PutContext = ApplyContext & { readonly processes: () => readonly GatewayProcess[] }

/**
 * Reconciles the installation with its manifests. Each call is one transaction and writes nothing when nothing
 * changed.
 */
export type Desired = {
  put(body: PushBody): Promise<PushReply>
  /** Applies a change set as one version of the configuration. */
  change(body: ChangeSetBody): Promise<ChangeSetReply>
  /** Returns the result of one object and its acknowledgements; undefined when there is no such object. */
  get(key: ObjectKey): Promise<PushReply | undefined>
  /** Removes one object. Returns false when there was none. */
  remove(key: ObjectKey): Promise<boolean>
  /** Removes the objects that this source no longer has, except those of currently broken files. */
  sweep(body: SweepBody): Promise<SweepReply>
  /**
   * Replaces all namespaces; Gateways admit them by their labels. Returns true when the binding of an object changed.
   */
  namespaces(namespaces: readonly NamespaceRow[]): Promise<boolean>
  /** Binds the Policies of manifests by the current platform namespaces. Returns true when a binding changed. */
  bindPolicies(): Promise<boolean>
  problems(source: ManifestSource, problems: readonly ManifestProblem[]): Promise<void>
  /** Lists the objects of the namespaces. Files with problems have no namespace. */
  list(namespaces: Namespaces): Promise<ManifestsView>
}

export function createDesired(deps: DesiredDeps): Desired {
  const { db, processes = () => [] } = deps
  const checkPolicy = createPolicyChecks(deps.knownAction)
  const { members = ACCOUNTS_ONLY } = deps
  const contextOf = (q: Query) => ({
    ...deps,
    q,
    processes,
    checkPolicy,
    members,
    reads: createApplyReads(q),
  })
  const inTransaction = <T>(work: (context: PutContext) => Promise<T>) =>
    db.tx(async (q) => {
      await lockDesired(q)
      return work(contextOf(q))
    })
  const again = async (apply: (context: ApplyContext) => Promise<boolean>) => {
    await members.ask(async () =>
      (await listDesired(db)).map((row) => ({ namespace: answerPlace(deps, row), spec: row.stored.spec })),
    )
    return inTransaction(async (context) => {
      const isChanged = await apply(context)
      if (isChanged) await bumpVersion(context.q)
      return isChanged
    })
  }
  const change = async (body: ChangeSetBody) => {
    await members.ask(async () =>
      body.objects.map((each) => ({
        namespace: answerPlace(deps, { ...each, ...keyOf(each) }),
        spec: each.resource.spec,
      })),
    )
    return inTransaction((context) => changeAll(context, body))
  }
  return {
    change,
    async put(body) {
      const { replies } = await change({ source: body.source, objects: [body], removed: [] })
      const [reply] = replies
      if (reply === undefined) throw new Error('a change set answers for each of its objects')
      return reply
    },
    async get(key) {
      const row = await getDesired(db, key)
      return row === undefined ? undefined : replyOf(contextOf(db), row, await currentVersion(db))
    },
    async remove(key) {
      if ((await getDesired(db, key)) === undefined) return false
      await inTransaction(async (context) => {
        const row = await getDesired(context.q, key)
        if (row === undefined) return
        const isRemoved = await removeAll(context, [row])
        const isAffected = await applyOthers(context, [row])
        if (isRemoved || isAffected) await bumpVersion(context.q)
      })
      return true
    },
    async sweep(body) {
      const { removed, missing } = await change({ ...body, objects: [], removed: [] })
      return { removed, missing }
    },
    namespaces: (namespaces) =>
      again(async (context) => applyOfNamespaces(context, await replaceNamespaces(context.q, namespaces))),
    bindPolicies: () => again(applyPolicies),
    problems: (source, problems) => db.tx((q) => writeProblems(q, source, problems)),
    list: (namespaces) => readManifests(db, namespaces),
  }
}

/** Removes, applies and re-evaluates dependent objects in one transaction, as one version. */
async function changeAll(context: PutContext, body: ChangeSetBody): Promise<ChangeSetReply> {
  const { q } = context
  if (body.problems !== undefined) await writeProblems(q, body.source, body.problems)
  const known = await listDesired(q)
  const set = explain(body, known)
  const surplus = surplusOf(set, known, await brokenFiles(q, body.source))
  const isRemoved = await removeAll(context, surplus)
  const { rows, changed } = await putAll(context, inApplyOrder(set.objects))
  const isAffected = await applyOthers(context, [...surplus, ...changed])
  const judged = new Map((await listDesired(q)).map((row) => [nameOf(row), row]))
  if (isRemoved || changed.length > 0 || isAffected) await bumpVersion(q)
  const version = await currentVersion(q)
  const replyTo = (each: PushBody) => {
    const name = nameOf(keyOf(each))
    // Another object of the set may have taken a host of this one, so the evaluated row counts.
    const row = rows.has(name) ? judged.get(name) : undefined
    return row === undefined ? explainedReply(each, version) : replyOf(context, row, version)
  }
  return {
    removed: surplus.length,
    missing: missingOf(set, known, rows),
    replies: body.objects.map(replyTo),
  }
}

type Put = {
  readonly rows: ReadonlyMap<string, DesiredRow>
  /** The changed rows in both their new and old versions. */
  readonly changed: readonly DesiredRow[]
}

/** Applies refused objects again as long as others succeed: one may depend on another, as for a moved domain. */
async function putAll(context: PutContext, objects: readonly PushBody[]): Promise<Put> {
  const rows = new Map<string, DesiredRow>()
  const changed: DesiredRow[] = []
  const put = async (body: PushBody) => {
    const { row, known, isChanged } = await putOne(context, body)
    rows.set(nameOf(row), row)
    if (isChanged) changed.push(row, ...(known === undefined ? [] : [known]))
    return row.accepted
  }
  for (let pending = objects, left = -1; pending.length !== left; ) {
    left = pending.length
    const refused: PushBody[] = []
    for (const body of pending) if (!(await put(body))) refused.push(body)
    pending = refused
  }
  return { rows, changed }
}

async function putOne(
  context: PutContext,
  body: PushBody,
): Promise<{
  readonly row: DesiredRow
  readonly known: DesiredRow | undefined
  readonly isChanged: boolean
}> {
  const known = await getDesired(context.q, keyOf(body))
  if (known !== undefined && isOlder(body, known)) return { row: known, known, isChanged: false }
  const wanted = await withClaims(context.q, desiredOf(context, body, known), known)
  await context.reads.claimsChanged(wanted)
  const applied = await applyOne(context, wanted)
  const row = withOutcome(wanted, applied)
  if (known === undefined || !isSameRow(context.keyring, known, row)) await putDesired(context.q, row)
  // The precedence for a host may have changed although this row did not.
  const isClaimedAnew = !isDeepStrictEqual(known?.stored.claims, row.stored.claims)
  return { row, known, isChanged: applied.changed || isClaimedAnew }
}

/** Reports whether a later push overtook this one. Only objects of a cluster have generations. */
function isOlder(body: PushBody, known: DesiredRow): boolean {
  return body.source === 'kubernetes' && body.uid === known.uid && body.generation < known.generation
}

function desiredOf({ keyring }: ApplyContext, body: PushBody, known: DesiredRow | undefined): DesiredRow {
  const key = keyOf(body)
  const {
    uid,
    generation,
    source,
    managed_by: managedBy,
    resource,
    credential,
    problems,
    unnamed,
    origin,
  } = body
  const createdAt = body.created_at ?? (known?.uid === uid ? known.stored.createdAt : undefined)
  const sealed = typeof credential === 'string' ? keyring.seal(credential, desiredPlace(key)) : null
  // An absent credential means that the Secret cannot be read at the moment: the stored credential stays.
  const kept = credential === undefined ? (known?.stored.credential ?? null) : sealed
  const stored = {
    spec: resource.spec ?? {},
    credential: kept,
    warnings: [],
    ...(problems === undefined ? {} : { problems }),
    ...(unnamed === undefined ? {} : { isUnnamed: true }),
    bound: boundBefore(known, resource.spec),
    ...(createdAt === undefined ? {} : { createdAt }),
    ...(origin === undefined ? {} : { origin }),
  }
  return { ...key, uid, generation, source, managedBy, accepted: false, reasons: [], stored }
}

/** Returns the Gateways that the object was bound to; none after a change of the spec, which is bound again. */
function boundBefore(known: DesiredRow | undefined, spec: unknown): readonly string[] {
  const isSameSpec = known !== undefined && isDeepStrictEqual(known.stored.spec, asStored(spec ?? {}))
  return isSameSpec ? (known.stored.bound ?? []) : []
}

/** Returns the value as the database returns it: without undefined members. */
function asStored(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

async function removeAll(context: ApplyContext, rows: readonly DesiredRow[]): Promise<boolean> {
  let isChanged = false
  for (const row of rows) {
    await deleteDesired(context.q, row)
    await context.reads.claimsDeleted(row)
    isChanged = (await removeOne(context, row)) || isChanged
  }
  return isChanged
}

const UNKNOWN = { problem: null, gateways: [], tests: null } as const

function replyOf({ processes }: PutContext, row: DesiredRow, version: number): PushReply {
  const { accepted, reasons, stored } = row
  const { problem, gateways, tests } = stored.outcome ?? UNKNOWN
  const names = gateways === null ? null : [...gateways]
  return {
    ...{ accepted, reasons: [...reasons], problem, in_force: inForceOf(row), warnings: [...stored.warnings] },
    ...{ version, gateways: names, tests },
    acknowledged: acknowledgedBy(processes(), { version, gateways: names }),
  }
}
