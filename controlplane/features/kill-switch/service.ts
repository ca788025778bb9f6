import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import {
  type KillNames,
  type UnknownScope,
  unknownScope,
} from '../../../core/decision/kill-switch/kill-scope-names.ts'
import {
  isKillScope,
  KILL_SCOPE_FORMS,
  normaliseScope,
} from '../../../core/decision/kill-switch/kill-switch.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Clock } from '../../../core/state/clock.ts'
import { covers, type Namespaces } from '../../../core/wire/access/rights.ts'
import type { HostedWorkState } from '../../../core/wire/gateway/hosted-work.ts'
import type { KillEntry, StateOrder } from '../../../core/wire/gateway/kill.ts'
import type { Query } from '../../db/query.ts'
import { createDeadline, type Deadline } from '../../deadline.ts'
import type { Hub } from '../../sync/hub.ts'
import type { AckBarrier, KillAcks } from '../../sync/kill-switch/ack-barrier.ts'
import { type Actor, systemActor } from '../audit/actor.ts'
import { makeRoom, notStored } from './capacity.ts'
import { hostedWorkState } from './hosted-work.ts'
import { listKillNames } from './name-store.ts'
import { listSettled } from './rows.ts'
import { type KillSource, replaceSource } from './source.ts'
import { createKillStoring, type KillStoring, type KillStoringDeps } from './storing.ts'

export type KillSwitchDeps = KillStoringDeps & {
  readonly hub: Pick<Hub, 'kill' | 'hostedWork'>
  readonly clock: Clock
  readonly waits?: KillWaits
}

export type KillWaits = {
  /** Time limit of the reply, in ms. */
  readonly answerMs: number
  /**
   * Time limit in ms of the database query that finds out whether a repeated kill switch was already stored. When the
   * query takes longer, a kill switch younger than `YOUNG_MS` is broadcast without the result of the query.
   */
  readonly settledMs: number
}

export type KillChange = {
  readonly active: boolean
  /** Scope of the kill switch; absent means `all`. */
  readonly scope?: string | undefined
  readonly reason?: string | undefined
  /**
   * Origin of the change: `api`, `dashboard`, `cli`, `gateway:<name>` or `manifest:<ns/name>`. Each source activates
   * and lifts its kill switches independently of other sources.
   */
  readonly source: string
  readonly by: Actor
  /**
   * False when the database or the cluster did not answer, so that the caller was authenticated from a cache.
   * Default: true.
   */
  readonly isChecked?: boolean
  /** Lifts the kill switches of every source for this scope. The audit event names these sources. */
  readonly override?: boolean
  /** Namespaces in which the caller has the right. The reply names no objects of other namespaces. Default: `all`. */
  readonly namespaces?: Namespaces
  /**
   * Id that a gateway gave to the kill switch that it forwards. A repeated call has the same id, and does not activate
   * the kill switch again after a lift.
   */
  readonly own?: ForwardedKill | undefined
}

export type ForwardedKill = {
  /** Id of the kill switch. The id contains the id of the gateway, so that no other gateway can choose the same id. */
  readonly id: string
  /** Age of the kill switch in ms when the gateway repeats its call; undefined at the first call. */
  readonly retriedAfterMs?: number | undefined
}

export type KillReply = {
  readonly ok: true
  readonly active: boolean
  readonly scope: string
  readonly effective: readonly KillEntry[]
  readonly acknowledged: KillAcks
  /**
   * Present for a stored kill switch: its position in the total order of kill states. The state at this position and
   * all later states contain the kill switch or its lift.
   */
  readonly order?: StateOrder
  /** False when the kill switch is in force on connected gateways but not stored yet; otherwise absent. */
  readonly stored?: false
  /** Present when the kill switch is in force but not stored yet, or when nothing matches the scope. */
  readonly warning?: string
  /** Present for a lift: the sources whose kill switches for the scope were lifted; may be empty. */
  readonly released?: readonly string[]
  /** Present when no agent, connector or gateway matches the scope: similar scopes. */
  readonly nearest?: readonly string[]
  /**
   * Present for an activation: the hosted work that gateways have cancelled at providers so far. The reply does not
   * wait for further cancellations.
   */
  readonly hosted_work?: HostedWorkState
}

export type KillSwitch = {
  effective(): readonly KillEntry[]
  /**
   * Returns the hosted work that gateways in the namespaces have cancelled so far. Returns undefined when no gateway
   * has reported hosted work.
   */
  hostedWork(namespaces: Namespaces): HostedWorkState | undefined
  /** Returns the kill switches that are broadcast to gateways but not stored in the database yet. */
  announced(): readonly KillEntry[]
  /**
   * Activates or lifts a kill switch. An activation replies within 2 s, with the acknowledgements so far and whether
   * the kill switch is stored. A lift waits for the database. Throws `validation`.
   */
  set(change: KillChange): Promise<KillReply>
  /** Replaces all kill switches of one source, in the caller's transaction. Returns true when a kill switch changed. */
  replaceSource(q: Query, source: KillSource): Promise<boolean>
}

/**
 * Time limits of one reply. Together with the authentication of the caller (`URGENT_MS`), the reply takes at most 2 s,
 * even if gateways or the database do not answer.
 */
const WAITS: KillWaits = { answerMs: 1_300, settledMs: 500 }
/** Maximum age in ms of a repeated kill switch that is broadcast although the database does not answer. */
const YOUNG_MS = 10 * 60_000
const NO_REASON = 'no reason given'
/**
 * Actor in the audit event of a kill switch that this replica adopted from a gateway or another replica, or restored
 * after the database lost the kill switch. This replica does not have the name of the user.
 */
const ADOPTED_FROM = {
  gateway: 'another replica',
  lifted: 'another replica',
  lost: 'control plane, after the database lost it',
} as const
export function createKillSwitch(deps: KillSwitchDeps): KillSwitch {
  const { hub, waits = WAITS } = deps
  const storing = createKillStoring(deps)
  hub.kill.onAdopted((announcement, from) => {
    const by = systemActor(`${ADOPTED_FROM[from]} (${announcement.entry.source})`)
    const isLifted = from === 'lifted'
    void (isLifted ? storing.settleLifted({ announcement, by }) : storing.store({ announcement, by }))
  })
  return {
    effective: hub.kill.effective,
    announced: () => hub.kill.announcements().map(({ entry }) => entry),
    hostedWork: (namespaces) => hostedWorkState(hub.hostedWork(), namespaces),
    async set(change) {
      const scope = checkedScope(change.scope)
      const deadline = createDeadline(waits.answerMs)
      const looked = change.active ? deadline.limit(unknownScopeOf(deps, { ...change, scope }), null) : null
      const done = change.active
        ? await activate({ ...deps, storing }, { ...change, scope }, deadline)
        : await lift({ ...deps, storing }, { ...change, scope })
      const acknowledged = await done.barrier.acknowledged(
        change.active ? deadline.remainingMs() : waits.answerMs,
      )
      const reply = { ok: true, active: change.active, scope, effective: hub.kill.effective() } as const
      const work = change.active ? hostedWorkState(hub.hostedWork(), change.namespaces) : undefined
      const hosted = work === undefined ? {} : { hosted_work: work }
      return { ...reply, acknowledged, ...notes(done, acknowledged, await looked), ...hosted }
    },
    replaceSource: (q, source) => replaceSource(deps, q, source),
  }
}

/**
 * Returns the warning about a scope that matches nothing. Returns null when the scope matches, and when the database
 * does not answer.
 */
async function unknownScopeOf(
  { db, orgId }: KillSwitchDeps,
  { scope, namespaces = 'all' }: Pick<Scoped, 'scope' | 'namespaces'>,
): Promise<UnknownScope | null> {
  if (scope === 'all') return null
  const known = await listKillNames(db, orgId).catch(() => null)
  return known === null ? null : unknownScope(scope, namesIn(known, namespaces))
}

/** Removes the names of other namespaces, so that the warning about a scope does not disclose them. */
function namesIn(names: KillNames, namespaces: Namespaces): KillNames {
  if (namespaces === 'all') return names
  const isIn = (name: string) => covers(namespaces, namespaceOf(name) || null)
  return {
    agents: names.agents.filter(({ name }) => isIn(name)),
    connectors: [],
    gateways: names.gateways.filter(isIn),
    instances: names.instances.filter(({ pod }) => isIn(pod)),
  }
}

/** Returns the optional fields of the reply. */
function notes({ warning, order, released }: Done, acknowledged: KillAcks, unknown: UnknownScope | null) {
  const warnings = [warning, unknown?.warning].filter((text) => text !== undefined)
  return {
    ...(warnings.length === 0 ? {} : { warning: warnings.join(' ') }),
    ...(warning === undefined ? {} : { stored: false as const }),
    ...(order == null ? {} : { order }),
    ...(released === undefined ? {} : { released }),
    // The gateways have acknowledged the kill switch, but its scope matches nothing. The reply therefore counts no
    // acknowledgements.
    ...(unknown && { acknowledged: { acked: 0, total: 0, ms: acknowledged.ms }, nearest: unknown.nearest }),
  }
}

type Context = KillSwitchDeps & { readonly storing: KillStoring }
type Scoped = KillChange & { readonly scope: string }
type Done = {
  readonly barrier: AckBarrier
  readonly warning?: string
  readonly order?: StateOrder | null
  readonly released?: readonly string[]
}

/**
 * Activates a kill switch. Broadcasts first and stores afterwards, because a database that fails or hangs must not
 * delay a kill switch.
 */
async function activate(context: Context, change: Scoped, deadline: Deadline): Promise<Done> {
  const { hub, clock, storing } = context
  if (change.own !== undefined && (await isSettled(context, change.own, deadline)))
    return settled(hub, change.own, deadline)
  const reason = change.reason?.trim() || NO_REASON
  const scopes = { scope: change.scope, own: change.own?.id }
  makeRoom(hub.kill, storing.pendingOf(change), scopes)
  const since = new Date(clock.nowMs()).toISOString()
  const entry: KillEntry = { scope: change.scope, source: change.source, reason, since }
  const { barrier, announcement } = hub.kill.announce(entry, change.own?.id)
  const setter = { by: change.by, isChecked: change.isChecked ?? true }
  const isStored = await deadline.limit(storing.store({ announcement, ...setter }), false)
  return isStored
    ? { barrier, order: hub.kill.order() }
    : { barrier, warning: notStored(hub.kill.announcements(), announcement.id) }
}

/**
 * Reports whether a gateway repeats a kill switch that was stored before, and that may have been lifted since. Throws
 * `not_ready` when the database does not answer and the kill switch is older than `YOUNG_MS`, because a second
 * activation could undo a lift.
 */
async function isSettled(
  { db, hub, waits = WAITS }: Context,
  own: ForwardedKill,
  deadline: Deadline,
): Promise<boolean> {
  const { id, retriedAfterMs } = own
  if (hub.kill.isSettled(id)) return true
  if (retriedAfterMs === undefined || hub.kill.isAnnounced(id)) return false
  const asked = listSettled(db, [id]).catch(() => null)
  const answer = await deadline.limit(Promise.race([asked, after(waits.settledMs)]), null)
  if (answer !== null) return answer.includes(id)
  if (retriedAfterMs <= YOUNG_MS) return false
  throw new ChaperoneError('not_ready', {
    detail: 'The database did not confirm whether this kill switch was lifted. Try again in a moment.',
  })
}

/**
 * Handles a repeated kill switch that was stored before. Broadcasts the kill state that is stored now; this state
 * contains the kill switch only if it is still in force.
 */
async function settled({ kill }: Context['hub'], { id }: ForwardedKill, deadline: Deadline): Promise<Done> {
  const isRead = await deadline.limit(
    kill.refresh().then(
      () => true,
      () => false,
    ),
    false,
  )
  return isRead
    ? { barrier: kill.broadcast(), order: kill.order() }
    : { barrier: kill.broadcast(), warning: notStored(kill.announcements(), id) }
}

function after(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(() => resolve(null), ms).unref())
}

/**
 * Lifts kill switches. Stores the lift first and broadcasts afterwards, so that no agent is released while the
 * database still contains the kill switch. A lift that only one replica applied would be undone by the other
 * replicas. Therefore, the lift waits for the database.
 */
async function lift({ hub, storing }: Context, change: Scoped): Promise<Done> {
  const released = await storing.lift({ ...change, id: change.own?.id })
  await hub.kill.refresh()
  return { barrier: hub.kill.broadcast(), released }
}

/** Returns the scope in its stored form; an absent scope means `all`. Throws `validation` for an invalid scope. */
export function checkedScope(scope: string | undefined): string {
  if (scope === undefined || isKillScope(scope)) return normaliseScope(scope)
  const detail = `scope: ${KILL_SCOPE_FORMS}`
  throw new ChaperoneError('validation', { detail, extra: { details: detail } })
}
