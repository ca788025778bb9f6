import type { Logger } from 'pino'
import { normaliseScope } from '../../../core/decision/kill-switch/kill-switch.ts'
import type { KillAnnouncement } from '../../../core/wire/gateway/kill.ts'
import type { Db, Query } from '../../db/query.ts'
import type { Hub } from '../../sync/hub.ts'
import type { CancelKilled } from '../approvals/cancellation/service.ts'
import { type Actor, systemActor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { listLiftedSince } from './rows.ts'
import {
  type KillInput,
  latchKillSwitch,
  releaseKillScope,
  releaseKillSwitch,
  settleAnnouncement,
} from './store.ts'

/** Stores kill switches that were announced to gateways, and lifts kill switches. */
export type KillStoring = {
  /**
   * Stores a kill switch. Resolves to false when the first attempt failed; the attempts then continue until the kill
   * switch is stored or lifted. Never rejects.
   */
  store(announced: AnnouncedKill): Promise<boolean>
  /**
   * Returns the kill switches of one caller and source that were announced to gateways and are not stored yet, oldest
   * first.
   */
  pendingOf(setter: { readonly by: Actor; readonly source: string }): readonly KillAnnouncement[]
  /**
   * Settles a kill switch that was lifted before it was stored, so that no replica stores the kill switch later.
   * Records the audit event of the kill switch. Never rejects.
   */
  settleLifted(announced: AnnouncedKill): Promise<void>
  /**
   * Lifts the kill switches that are stored or announced at the time of the call. A kill switch that is announced later
   * stays in force, except the announcement with the id `change.id`. The lift is one transaction. If the answer to the
   * commit is lost, the next read of the kill state shows whether the lift took effect. Returns the sources whose kill
   * switches were lifted.
   */
  lift(change: KillLift): Promise<readonly string[]>
}

export type AnnouncedKill = {
  readonly announcement: KillAnnouncement
  readonly by: Actor
  /**
   * False when the database or the cluster did not answer, so that the caller was authenticated from a cache.
   * Default: true.
   */
  readonly isChecked?: boolean
}
type Setter = Omit<AnnouncedKill, 'announcement'>

export type KillLift = {
  readonly scope: string
  readonly source: string
  readonly reason?: string | undefined
  readonly by: Actor
  /** Lifts the kill switches of all sources for the scope. Default: only the kill switch of `source`. */
  readonly override?: boolean
  /** Id of an announcement that may not have reached this replica yet. */
  readonly id?: string | undefined
}

export type KillStoringDeps = {
  readonly db: Db
  readonly hub: Pick<Hub, 'kill'>
  readonly orgId: string
  readonly cancelKilled: CancelKilled
  readonly log: Logger
}

const RETRY_MS = 1_000

export function createKillStoring(deps: KillStoringDeps): KillStoring {
  const { db, orgId, hub, cancelKilled, log } = deps
  /**
   * Lift transactions in progress. Storing a kill switch that was activated after a lift waits for the transaction of
   * this lift.
   */
  const lifts = new Set<Promise<unknown>>()
  /** Caller that set each announced kill switch, until the kill switch is stored or lifted. */
  const actors = new Map<string, Setter>()

  /**
   * Stores the kill switch in one transaction. `isLate`: an earlier attempt failed, and another replica may have lifted
   * the kill switch since.
   */
  async function storeNow({ announcement, ...setter }: AnnouncedKill, isLate: boolean): Promise<void> {
    const { id, entry } = announcement
    const { scope, source, reason } = entry
    const { by } = setter
    const row = { orgId, scope, source, reason, activatedBy: by.label }
    await db.tx(async (q) => {
      // Another replica may have stored the kill switch, and a user may have lifted it since.
      if (!(await settleAnnouncement(q, id))) return
      if (isLate && (await listLiftedSince(q, [announcement])).length > 0)
        return auditActivated(q, row, { ...setter, isLifted: true })
      if (await latchKillSwitch(q, row)) await auditActivated(q, row, setter)
      await cancelKilled(q, { ...entry, by })
    })
    hub.kill.settle(id)
    await hub.kill.refresh()
    actors.delete(id)
  }

  async function tryToStore(announced: AnnouncedKill, isLate: boolean): Promise<boolean> {
    try {
      await storeNow(announced, isLate)
      return true
    } catch (error) {
      const { scope } = announced.announcement.entry
      log.error(
        { err: error, scope },
        'kill switch is in force on connected gateways but could not be stored, trying again',
      )
      return false
    }
  }

  function retryLater(announced: AnnouncedKill): void {
    const { id } = announced.announcement
    const retry = async () => {
      if (!hub.kill.isAnnounced(id)) return void actors.delete(id)
      if (!(await tryToStore(announced, true))) retryLater(announced)
    }
    setTimeout(() => void retry(), RETRY_MS).unref()
  }

  async function liftNow(change: KillLift, announced: readonly KillAnnouncement[]): Promise<string[]> {
    const released = await db.tx(async (q) => {
      const unstored = await liftUnstored(q, { ...deps, actors }, { ...change, announced })
      if (change.id !== undefined) await settleAnnouncement(q, change.id)
      const stored = await release(q, orgId, change)
      const sources = [...new Set([...unstored, ...stored])]
      if (sources.length > 0) await auditDeactivated(q, orgId, { ...change, sources })
      return sources
    })
    hub.kill.retract([...announced.map(({ id }) => id), ...(change.id === undefined ? [] : [change.id])])
    for (const { id } of announced) actors.delete(id)
    return released
  }

  return {
    async store(announced) {
      const { id } = announced.announcement
      const earlier = [...lifts]
      const isRetried = actors.has(id)
      if (!isRetried) actors.set(id, setterOf(announced))
      await Promise.allSettled(earlier)
      // A lift on another replica may have removed the announcement.
      if (!hub.kill.isAnnounced(id)) return true
      const isStored = await tryToStore(announced, isRetried)
      if (!isStored && !isRetried) retryLater(announced)
      return isStored
    },
    pendingOf: (setter) => hub.kill.announcements().filter(isSetBy(setter, actors)),
    settleLifted: (announced) => settleLifted(deps, announced),
    async lift(change) {
      const lifting = liftNow(change, hub.kill.announcements().filter(isLiftedBy(change)))
      lifts.add(lifting)
      return lifting.finally(() => lifts.delete(lifting))
    },
  }
}

function isLiftedBy({ scope, source, override = false }: KillLift) {
  return ({ entry }: KillAnnouncement) =>
    normaliseScope(entry.scope) === scope && (override || entry.source === source)
}

function isSetBy(
  { by, source }: { readonly by: Actor; readonly source: string },
  actors: ReadonlyMap<string, Setter>,
) {
  return ({ id, entry }: KillAnnouncement) => entry.source === source && actors.get(id)?.by.label === by.label
}

async function settleLifted(
  { db, orgId, log }: KillStoringDeps,
  { announcement: { id, entry }, ...setter }: AnnouncedKill,
): Promise<void> {
  const { scope, source, reason } = entry
  const row = { orgId, scope, source, reason, activatedBy: setter.by.label }
  const settle = async (q: Query) => {
    if (await settleAnnouncement(q, id)) await auditActivated(q, row, { ...setter, isLifted: true })
  }
  await db.tx(settle).catch((error: unknown) => {
    log.error(
      { err: error, scope },
      'kill switch was lifted before it was stored, but another replica may still store it and so activate it again; check `chaperone kill status`',
    )
  })
}

/**
 * Settles announcements, so that no replica stores them later. Returns the sources of the announcements that no replica
 * had stored.
 */
async function liftUnstored(
  q: Query,
  { orgId, cancelKilled, actors }: KillStoringDeps & { readonly actors: ReadonlyMap<string, Setter> },
  { by, announced }: KillLift & { readonly announced: readonly KillAnnouncement[] },
): Promise<readonly string[]> {
  const sources: string[] = []
  for (const { id, entry } of announced) {
    if (!(await settleAnnouncement(q, id))) continue
    const { scope, source, reason } = entry
    const setter = actors.get(id) ?? { by: systemActor(`another replica (${source})`) }
    await auditActivated(q, { orgId, scope, source, reason, activatedBy: setter.by.label }, setter)
    // The kill switch was in force before the lift, even if it was never stored. The actions and approvals in its scope
    // are therefore cancelled.
    await cancelKilled(q, { ...entry, by })
    sources.push(source)
  }
  return sources
}

async function release(q: Query, orgId: string, { scope, source, override }: KillLift): Promise<string[]> {
  if (override === true) return releaseKillScope(q, orgId, scope)
  return (await releaseKillSwitch(q, { orgId, scope, source })) ? [source] : []
}

function setterOf({ announcement: _, ...setter }: AnnouncedKill): Setter {
  return setter
}

export async function auditActivated(
  q: Query,
  { orgId, scope, reason, source }: KillInput,
  { by, isChecked = true, isLifted = false }: Setter & { readonly isLifted?: boolean },
): Promise<void> {
  await recordEvent(q, {
    orgId,
    actor: by,
    type: 'kill_switch.activated',
    details: {
      scope,
      activated_by: by.label,
      reason,
      source,
      ...(isChecked ? {} : { checked: false }),
      // `lifted` is set when the kill switch was lifted before it was stored. Such a kill switch was in force only on
      // the gateways that are connected to one replica.
      ...(isLifted ? { lifted: true } : {}),
    },
  })
}

export async function auditDeactivated(
  q: Query,
  orgId: string,
  lift: Omit<KillLift, 'source'> & { readonly sources: readonly string[] },
): Promise<void> {
  const { scope, reason = null, by, sources, override = false } = lift
  const details = { scope, deactivated_by: by.label, reason, sources, override }
  await recordEvent(q, { orgId, actor: by, type: 'kill_switch.deactivated', details })
}
