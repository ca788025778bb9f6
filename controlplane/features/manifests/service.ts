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
import { createTableStatistics } from '../../db/table-statistics.ts'
import type { GroupMembers } from '../authentication/cluster/group-members.ts'
import {
  applyOfCredential,
  applyOfNamespaces,
  applyOne,
  applyOthers,
  applyPolicies,
  isSameRow,
  nameOf,
  removeOne,
  withOutcome,
} from './apply/apply.ts'
import {
  explain,
  explainedReply,
  inApplyOrder,
  isOlder,
  keyOf,
  missingOf,
  referring,
  rowOfPush,
  statesFor,
  surplusRows,
} from './apply/change-set.ts'
import { type ApplyContext, answerPlace } from './apply/context.ts'
import { endDeletedGrants } from './apply/deleted-grants.ts'
import { createApplyReads } from './apply/reads.ts'
import { createApplyWrites } from './apply/writes.ts'
import { withClaims } from './hosts/host-claims.ts'
import { createObjectCache } from './object-cache.ts'
import { createPolicyChecks } from './policy/cached-check.ts'
import { writeProblems } from './problems.ts'
import type { ManifestRow, ManifestSource, ObjectKey } from './rows.ts'
import { getManifest, listManifests, lockManifests } from './store.ts'
import { inForceOf, type ManifestsView, readManifests } from './view.ts'

export type ManifestsDeps = Omit<
  ApplyContext,
  'q' | 'reads' | 'writes' | 'objects' | 'checkPolicy' | 'members'
> & {
  /** Reports whether RBAC lets approver groups without accounts answer approvals; never the case outside a cluster. */
  readonly members: GroupMembers
  /** Returns the effect and the risk of an action by its name, for the tests of policies. */
  readonly knownAction: (type: string) => KnownAction | null
  readonly db: Db
  /** Returns all known gateway processes, for the acknowledgement count of a push result ("acknowledged n of m"). */
  readonly processes?: () => readonly GatewayProcess[]
}
type PutContext = ApplyContext & { readonly processes: () => readonly GatewayProcess[] }

/**
 * Reconciles the installation with its manifests. Each call is one transaction. A call without an effective change
 * writes nothing.
 */
export type Manifests = {
  put(body: PushBody): Promise<PushReply>
  /** Applies a change set as one version of the configuration. */
  change(body: ChangeSetBody): Promise<ChangeSetReply>
  /** Returns the push result of one object with its acknowledgements; undefined when the object does not exist. */
  get(key: ObjectKey): Promise<PushReply | undefined>
  /** Removes one object. Returns false when the object did not exist. */
  remove(key: ObjectKey): Promise<boolean>
  /**
   * Removes the objects that the source no longer contains. Objects of a file that cannot be parsed at the moment stay.
   */
  sweep(body: SweepBody): Promise<SweepReply>
  /**
   * Replaces the stored namespaces and their labels. Gateways admit objects by the labels of namespaces. Returns true
   * when the Gateways to which an object applies changed.
   */
  namespaces(namespaces: readonly NamespaceRow[]): Promise<boolean>
  /**
   * Determines again to which Gateways each Policy of a manifest applies, because this depends on the configured
   * namespaces of the platform team. Returns true when the Gateways of a Policy changed.
   */
  bindPolicies(): Promise<boolean>
  /**
   * Runs a change of the encrypted store and applies the Connectors that name the credential, in one transaction.
   * Returns true when the configuration in force changed. Throws `conflict`, without an effect, when the new credential
   * causes the refusal of a Connector.
   */
  credentialChanged(name: string, change: (q: Query) => Promise<void>): Promise<boolean>
  problems(source: ManifestSource, problems: readonly ManifestProblem[]): Promise<void>
  /**
   * Lists the manifest objects of the namespaces. Also lists the problems of manifest files if the caller has access
   * to all namespaces, because these problems belong to no namespace.
   */
  list(namespaces: Namespaces): Promise<ManifestsView>
}

const NO_RESULT = 'the change of the object has no result: report this as a defect of Chaperone'

export function createManifests(deps: ManifestsDeps): Manifests {
  const { db, members, processes = () => [] } = deps
  const checkPolicy = createPolicyChecks(deps.knownAction)
  const statistics = createTableStatistics(db, ['manifest_objects', 'permissions', 'policies', 'connectors'])
  const contextOf = (q: Query) => {
    const objects = createObjectCache(q)
    const reads = createApplyReads(q, objects)
    return { ...deps, q, processes, checkPolicy, objects, reads, writes: createApplyWrites(q) }
  }
  const inTransaction = <T>(work: (context: PutContext) => Promise<T>) =>
    db.tx(async (q) => {
      await lockManifests(q)
      const context = contextOf(q)
      const value = await work(context)
      await context.writes.flush()
      await context.objects.flush()
      return value
    })
  const again = async (apply: (context: ApplyContext) => Promise<boolean>) => {
    await members.ask(async () =>
      (await listManifests(db)).map((row) => ({ namespace: answerPlace(deps, row), spec: row.stored.spec })),
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
    const reply = await inTransaction((context) => changeAll(context, body))
    await statistics.written(body.objects.length)
    return reply
  }
  return {
    change,
    async put(body) {
      const [reply] = (await change({ source: body.source, objects: [body], removed: [] })).replies
      if (reply === undefined) throw new Error(NO_RESULT)
      return reply
    },
    get: async (key) => {
      const row = await getManifest(db, key)
      return row && replyOf(contextOf(db), row, await currentVersion(db))
    },
    async remove(key) {
      const isStored = (await getManifest(db, key)) !== undefined
      await inTransaction(async (context) => {
        await endDeletedGrants(context, [key])
        const row = await context.objects.get(key)
        if (row === undefined) return
        const isRemoved = await removeAll(context, [row])
        const isAffected = await applyOthers(context, [row])
        if (isRemoved || isAffected) await bumpVersion(context.q)
      })
      return isStored
    },
    async sweep(body) {
      const { removed, missing } = await change({ ...body, objects: [], removed: [] })
      return { removed, missing }
    },
    namespaces: (namespaces) =>
      again(async (context) => applyOfNamespaces(context, await replaceNamespaces(context.q, namespaces))),
    bindPolicies: () => again(applyPolicies),
    credentialChanged: (name, write) => again((context) => applyOfCredential(context, name, write)),
    problems: (source, problems) => db.tx((q) => writeProblems(q, source, problems)),
    list: (namespaces) => readManifests(db, namespaces),
  }
}

/**
 * Removes objects, applies objects, and evaluates dependent objects again. All changes are one transaction and one
 * version of the configuration.
 */
async function changeAll(context: PutContext, body: ChangeSetBody): Promise<ChangeSetReply> {
  const { q, objects } = context
  if (body.problems !== undefined) await writeProblems(q, body.source, body.problems)
  const known = await statesFor(context, body)
  const set = explain(body, known)
  const surplus = await surplusRows(context, set, known)
  const isRemoved = await removeAll(context, surplus)
  if (set.source === 'kubernetes') await endDeletedGrants(context, [...set.removed, ...surplus])
  await objects.prefetch(set.objects.map(keyOf))
  const { rows, changed } = await putAll(context, inApplyOrder(set.objects))
  const isAffected = await applyOthers(context, [...surplus, ...changed])
  if (isRemoved || changed.length > 0 || isAffected) await bumpVersion(q)
  const version = await currentVersion(q)
  const replies: PushReply[] = []
  for (const each of body.objects) {
    const key = keyOf(each)
    // Reads the object again, because another object of the change set may have taken a host of this object after its
    // first evaluation.
    const row = rows.has(nameOf(key)) ? await objects.get(key) : undefined
    replies.push(row === undefined ? explainedReply(each, version) : replyOf(context, row, version))
  }
  return { removed: surplus.length, missing: missingOf(set, known, rows), replies }
}

type Put = {
  readonly rows: ReadonlyMap<string, ManifestRow>
  /** The changed rows, each in its old and its new version. */
  readonly changed: readonly ManifestRow[]
}

/**
 * Applies the objects. Applies the refused objects again until no further object is accepted, because an
 * object may depend on a later object of the list. For example, a domain may move between Connectors.
 */
async function putAll(context: PutContext, objects: readonly PushBody[]): Promise<Put> {
  const rows = new Map<string, ManifestRow>()
  const changed: ManifestRow[] = []
  const put = async (body: PushBody) => {
    const { row, known, isChanged } = await putOne(context, body)
    rows.set(nameOf(row), row)
    if (isChanged) changed.push(row, ...(known === undefined ? [] : [known]))
    return row.accepted
  }
  const putEach = async (bodies: readonly PushBody[]) => {
    const refused: PushBody[] = []
    for (const body of bodies) if (!(await put(body))) refused.push(body)
    return refused
  }
  for (let pending = objects, left = -1; pending.length !== left; ) {
    left = pending.length
    const others = pending.filter(({ resource }) => resource.kind !== 'Gateway')
    const refused = await putEach(pending.filter(({ resource }) => resource.kind === 'Gateway'))
    // A changed Gateway invalidates the cached Gateways. Objects of other kinds are therefore prefetched after all
    // Gateways are applied.
    await context.reads.prefetch(others.map(referring))
    pending = [...refused, ...(await putEach(others))]
  }
  return { rows, changed }
}

async function putOne(
  context: PutContext,
  body: PushBody,
): Promise<{
  readonly row: ManifestRow
  readonly known: ManifestRow | undefined
  readonly isChanged: boolean
}> {
  const known = await context.objects.get(keyOf(body))
  if (known !== undefined && isOlder(body, known)) return { row: known, known, isChanged: false }
  // An object with another uid is a new object; the stored object of the same name was deleted.
  if (known !== undefined && known.uid !== body.uid) await endDeletedGrants(context, [known])
  const wanted = await withClaims(context.q, rowOfPush(context, body, known), known)
  context.reads.claimsChanged(wanted)
  const applied = await applyOne(context, wanted)
  const row = withOutcome(wanted, applied)
  if (known === undefined || !isSameRow(context.keyring, known, row)) context.objects.put(row)
  // The time of a host claim decides between Connectors with the same host, so a changed time counts as a change of the
  // object.
  const isClaimedAnew = !isDeepStrictEqual(known?.stored.claims, row.stored.claims)
  return { row, known, isChanged: applied.changed || isClaimedAnew }
}

async function removeAll(context: ApplyContext, rows: readonly ManifestRow[]): Promise<boolean> {
  let isChanged = false
  for (const row of rows) {
    await context.objects.delete(row)
    context.reads.claimsDeleted(row)
    isChanged = (await removeOne(context, row)) || isChanged
  }
  return isChanged
}

const UNKNOWN = { problem: null, gateways: [], tests: null } as const

function replyOf({ processes }: PutContext, row: ManifestRow, version: number): PushReply {
  const { accepted, reasons, stored } = row
  const { problem, gateways, tests } = stored.outcome ?? UNKNOWN
  const names = gateways === null ? null : [...gateways]
  return {
    accepted,
    reasons: [...reasons],
    problem,
    in_force: inForceOf(row),
    warnings: [...stored.warnings],
    version,
    gateways: names,
    tests,
    acknowledged: acknowledgedBy(processes(), { version, gateways: names }),
  }
}
