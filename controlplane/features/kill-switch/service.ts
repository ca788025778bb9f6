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
import type { KillEntry, StateOrder } from '../../../core/wire/gateway/kill.ts'
import type { HostedWorkState } from '../../../core/wire/hosted-work.ts'
import type { Query } from '../../db/query.ts'
import type { Hub } from '../../sync/hub.ts'
import type { AckBarrier, KillAcks } from '../../sync/kill-switch/ack-barrier.ts'
import { type Actor, systemActor } from '../audit/store.ts'
import { makeRoom, notStored } from './capacity.ts'
import { createDeadline, type Deadline } from './deadline.ts'
import { hostedWorkState } from './hosted-work.ts'
import { listKillNames } from './name-store.ts'
import { type KillSource, replaceSource } from './source.ts'
import { listSettled } from './store.ts'
import { createKillStoring, type KillStoring, type KillStoringDeps } from './storing.ts'

export type KillSwitchDeps = KillStoringDeps & {
  readonly hub: Pick<Hub, 'kill' | 'hostedWork'>
  readonly clock: Clock
  readonly waits?: KillWaits
}

export type KillWaits = {
  /** For the whole answer. */
  readonly answerMs: number
  /** Of a repeated stop, for the database; then it is sent on without, while it is young. */
  readonly settledMs: number
}

export type KillChange = {
  readonly active: boolean
  /** Absent means `all`. */
  readonly scope?: string | undefined
  readonly reason?: string | undefined
  /** `api`, `dashboard`, `cli`, `gateway:<name>`, `manifest:<ns/name>`: each latches for itself. */
  readonly source: string
  readonly by: Actor
  /** False where the caller could not be checked. Default true. */
  readonly isChecked?: boolean
  /** Lifts the scope whatever source latched it; the audit row names them. */
  readonly override?: boolean
  /** Where the caller has the right: the answer names nothing else. Default `all`. */
  readonly namespaces?: Namespaces
  /** The number that a gateway gave to a stop of its own. Set twice it is one stop; lifted it is not set again. */
  readonly own?: OwnStop | undefined
}

export type OwnStop = {
  /** Of its announcement: no other gateway can choose it. */
  readonly id: string
  /** Of a repeated attempt: the age of the stop. */
  readonly retriedAfterMs?: number | undefined
}

export type KillReply = {
  readonly ok: true
  readonly active: boolean
  readonly scope: string
  readonly effective: readonly KillEntry[]
  readonly acknowledged: KillAcks
  /** Of a stop that is stored: a kill state that has the stop or its lift, as all later ones. */
  readonly order?: StateOrder
  /** Present when the stop is in force on connected gateways and not stored yet. */
  readonly stored?: false
  /** Present when the stop is in force on connected gateways but could not be stored, or when nothing bears the scope. */
  readonly warning?: string
  /** Of a lift: the sources that had latched the scope; empty where none had. */
  readonly released?: readonly string[]
  /** Present when nothing bears the scope: the scopes that were perhaps meant. */
  readonly nearest?: readonly string[]
  /** Of a kill switch that is set: what is cancelled at providers so far. The answer does not wait for it. */
  readonly hosted_work?: HostedWorkState
}

export type KillSwitch = {
  effective(): readonly KillEntry[]
  /** What is cancelled at providers so far, as far as the namespaces go. Undefined where no gateway reports. */
  hostedWork(namespaces: Namespaces): HostedWorkState | undefined
  /** Those that are in force and not stored yet. */
  announced(): readonly KillEntry[]
  /**
   * Answers a stop within 2 s: by then what gateways acknowledged and whether it is stored. A lift waits for the
   * database. Throws `validation` for a scope that is none.
   */
  set(change: KillChange): Promise<KillReply>
  /** Makes these scopes the whole of what one source latches, in the caller's transaction. True when that changed anything. */
  replaceSource(q: Query, source: KillSource): Promise<boolean>
}

/** The answer comes within 2 s with the check of the caller (`URGENT_MS`), whatever gateways and database do. */
const WAITS: KillWaits = { answerMs: 1_300, settledMs: 500 }
/** For how long a repeated stop is sent on without an answer of the database. */
const YOUNG_MS = 10 * 60_000
const NO_REASON = 'no reason given'
/** The person who set it is known to the replica that announced it, or to the audit event that was lost. */
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

/** A database that does not answer says nothing about the scope. */
async function unknownScopeOf(
  { db, orgId }: KillSwitchDeps,
  { scope, namespaces = 'all' }: Pick<Scoped, 'scope' | 'namespaces'>,
): Promise<UnknownScope | null> {
  if (scope === 'all') return null
  const known = await listKillNames(db, orgId).catch(() => null)
  return known === null ? null : unknownScope(scope, namesIn(known, namespaces))
}

/** Nobody learns the names of other namespaces from a warning. */
function namesIn(names: KillNames, namespaces: Namespaces): KillNames {
  if (namespaces === 'all') return names
  const isIn = (name: string) => covers(namespaces, namespaceOf(name) || null)
  return {
    agents: names.agents.filter(({ name }) => isIn(name)),
    connectors: [],
    gateways: names.gateways.filter(isIn),
  }
}

/** What the answer says besides. */
function notes({ warning, order, released }: Done, acknowledged: KillAcks, unknown: UnknownScope | null) {
  const warnings = [warning, unknown?.warning].filter((text) => text !== undefined)
  return {
    ...(warnings.length === 0 ? {} : { warning: warnings.join(' ') }),
    ...(warning === undefined ? {} : { stored: false as const }),
    ...(order == null ? {} : { order }),
    ...(released === undefined ? {} : { released }),
    // Gateways have it, and it stops nothing in any of them.
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

/** First to the gateways, then to the database: a database that fails or hangs must not delay a stop. */
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
 * Whether a gateway repeats a stop that was stored, and perhaps lifted, before. Throws `not_ready` when the database does
 * not say so of one that is not young: everybody may rely on its lift.
 */
async function isSettled(
  { db, hub, waits = WAITS }: Context,
  own: OwnStop,
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
    detail: 'The database does not say whether this kill switch was lifted meanwhile. Try again in a moment.',
  })
}

/** The stored state decides. */
async function settled({ kill }: Context['hub'], { id }: OwnStop, deadline: Deadline): Promise<Done> {
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
 * First the database, then the gateways: nobody is let go while the record still says stopped. It waits for the
 * database, because a lift that one replica alone knows would be undone by every other.
 */
async function lift({ hub, storing }: Context, change: Scoped): Promise<Done> {
  const released = await storing.lift({ ...change, id: change.own?.id })
  await hub.kill.refresh()
  return { barrier: hub.kill.broadcast(), released }
}

/** The scope as stored; absent means `all`. Throws `validation` for what is none. */
export function checkedScope(scope: string | undefined): string {
  if (scope === undefined || isKillScope(scope)) return normaliseScope(scope)
  const detail = `scope: ${KILL_SCOPE_FORMS}`
  throw new ChaperoneError('validation', { detail, extra: { details: detail } })
}
