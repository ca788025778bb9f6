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
  /** Of approver groups without accounts; none by default. */
  readonly members?: GroupMembers
  /** Effect and risk of an action by its name, for the tests of policies. */
  readonly knownAction: (type: string) => KnownAction | null
  readonly db: Db
  /** Every gateway process that is known, for "acknowledged n of m". */
  readonly processes?: () => readonly GatewayProcess[]
}
type PutContext = ApplyContext & { readonly processes: () => readonly GatewayProcess[] }

/** Makes the installation what its manifests say. Each call is one transaction; nothing new = nothing written. */
export type Desired = {
  put(body: PushBody): Promise<PushReply>
  /** Objects that changed together, as one version of the configuration. */
  change(body: ChangeSetBody): Promise<ChangeSetReply>
  /** What became of one object, and how many gateways acknowledged it; undefined when there is none. */
  get(key: ObjectKey): Promise<PushReply | undefined>
  /** False when there was no such object. */
  remove(key: ObjectKey): Promise<boolean>
  /** Removes what this source does not have any more, but for objects of files that are broken right now. */
  sweep(body: SweepBody): Promise<SweepReply>
  /** Makes these all namespaces that there are: Gateways admit them by their labels. True when objects are bound anew. */
  namespaces(namespaces: readonly NamespaceRow[]): Promise<boolean>
  /** Binds the Policies of manifests by the platform's namespaces as they are set now. True when one is bound anew. */
  bindPolicies(): Promise<boolean>
  problems(source: ManifestSource, problems: readonly ManifestProblem[]): Promise<void>
  /** Objects of the namespaces; files with problems are in none. */
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

/** One version: what goes, what comes and what depends on either, in one transaction. */
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
    // Another object of the set may have taken a host of it.
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
  /** As they are and as they were. */
  readonly changed: readonly DesiredRow[]
}

/** Refused objects are applied again as long as others succeed: one may wait for another, such as a domain that moves. */
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
  // Others may come first at a host now, although nothing of this one changed.
  const isClaimedAnew = !isDeepStrictEqual(known?.stored.claims, row.stored.claims)
  return { row, known, isChanged: applied.changed || isClaimedAnew }
}

/** A hand-over that overtook another one on its way; only a cluster counts generations. */
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
  // Not said = not known at the moment: then the one that is stored stays.
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

/** A changed spec is bound anew: what an earlier one was bound to counts no more. */
function boundBefore(known: DesiredRow | undefined, spec: unknown): readonly string[] {
  const isSameSpec = known !== undefined && isDeepStrictEqual(known.stored.spec, asStored(spec ?? {}))
  return isSameSpec ? (known.stored.bound ?? []) : []
}

/** As the database gives it back: without undefined members. */
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
