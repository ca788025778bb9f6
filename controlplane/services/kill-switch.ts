import type { Logger } from 'pino'
import { type UnknownScope, unknownScope } from '../../core/decision/kill-scope-names.ts'
import { isKillScope, KILL_SCOPE_FORMS, normaliseScope } from '../../core/decision/kill-switch.ts'
import { ChaperoneError } from '../../core/errors.ts'
import type { KillAnnouncement, KillEntry } from '../../core/wire/kill.ts'
import { type Actor, appendAudit, systemActor } from '../store/audit.ts'
import { listKillNames } from '../store/kill-names.ts'
import {
  type KillInput,
  latchKillSwitch,
  releaseKillScope,
  releaseKillSwitch,
  scopesOfSource,
  settleAnnouncement,
} from '../store/kill-switches.ts'
import type { Db, Query } from '../store/query.ts'
import type { Clock } from '../sync/clock.ts'
import type { Hub } from '../sync/hub.ts'
import type { KillAcks, KillRound } from '../sync/kill-round.ts'
import { createDeadline, type Deadline } from './deadline.ts'
import type { CancelStopped } from './stopped-approvals.ts'

export type KillSwitchDeps = {
  readonly db: Db
  readonly hub: Pick<Hub, 'kill'>
  readonly orgId: string
  readonly clock: Clock
  readonly cancelStopped: CancelStopped
  readonly log: Logger
}

export type KillChange = {
  readonly active: boolean
  /** Absent means `all`. */
  readonly scope?: string | undefined
  readonly reason?: string | undefined
  /** `api`, `dashboard`, `cli`, `gateway:<name>`, `manifest:<ns/name>`: each latches for itself. */
  readonly source: string
  readonly by: Actor
  /** Lifts the scope whatever source latched it; the audit row names them. */
  readonly override?: boolean
}

export type KillReply = {
  readonly ok: true
  readonly active: boolean
  readonly scope: string
  readonly effective: readonly KillEntry[]
  readonly acknowledged: KillAcks
  /** Present when the stop is in force on connected gateways and not stored yet. */
  readonly stored?: false
  /** Present when the stop is in force on connected gateways but could not be stored, or when nothing bears the scope. */
  readonly warning?: string
  /** Present when nothing bears the scope: the scopes that were perhaps meant. */
  readonly nearest?: readonly string[]
}

export type KillSwitch = {
  effective(): readonly KillEntry[]
  /**
   * Answers a stop within 2 s: by then what gateways acknowledged and whether it is stored. A lift waits for the
   * database. Throws `validation` for a scope that is none.
   */
  set(change: KillChange): Promise<KillReply>
  /** Makes these scopes the whole of what one source latches, in the caller's transaction. True when that changed anything. */
  replaceSource(q: Query, source: KillSource): Promise<boolean>
}

export type KillSource = {
  readonly source: string
  readonly scopes: readonly string[]
  readonly reason: string
  readonly by: string
}

/** The answer comes within 2 s, whatever gateways and database do. */
const ANSWER_MS = 1_800
const RETRY_MS = 1_000
const NO_REASON = 'no reason given'
const NOT_STORED =
  'Connected gateways were stopped, but the stop could not be stored yet: gateways of other replicas do not know it. It is stored as soon as the database answers, also when this process ends before, by the next replica that one of the stopped gateways reaches. Only if all of them end before that too, the stop is lost: check `chaperone kill status` later.'

export function createKillSwitch(deps: KillSwitchDeps): KillSwitch {
  const { hub } = deps
  // The person who set it is known to the replica that announced it.
  hub.kill.onAdopted(
    (announcement) =>
      void storeOrRetry(deps, {
        announcement,
        by: systemActor(`another replica (${announcement.entry.source})`),
      }),
  )
  return {
    effective: hub.kill.effective,
    async set(change) {
      const scope = checkedScope(change.scope)
      const deadline = createDeadline(ANSWER_MS)
      const looked = change.active ? deadline.limit(unknownScopeOf(deps, scope), null) : null
      const done = change.active
        ? await activate(deps, { ...change, scope }, deadline)
        : await lift(deps, { ...change, scope })
      const acknowledged = await done.round.acknowledged(change.active ? deadline.remainingMs() : ANSWER_MS)
      const reply = { ok: true, active: change.active, scope, effective: hub.kill.effective() } as const
      return { ...reply, acknowledged, ...notes(done, acknowledged, await looked) }
    },
    replaceSource: (q, source) => replaceSource(deps, q, source),
  }
}

/** A database that does not answer says nothing about the scope. */
async function unknownScopeOf({ db, orgId }: KillSwitchDeps, scope: string): Promise<UnknownScope | null> {
  if (scope === 'all') return null
  const known = await listKillNames(db, orgId).catch(() => null)
  return known === null ? null : unknownScope(scope, known)
}

/** What the answer says besides. */
function notes({ warning }: Done, acknowledged: KillAcks, unknown: UnknownScope | null) {
  const warnings = [warning, unknown?.warning].filter((text) => text !== undefined)
  return {
    ...(warnings.length === 0 ? {} : { warning: warnings.join(' ') }),
    ...(warning === undefined ? {} : { stored: false as const }),
    // Gateways have it, and it stops nothing in any of them.
    ...(unknown && { acknowledged: { acked: 0, total: 0, ms: acknowledged.ms }, nearest: unknown.nearest }),
  }
}

type Scoped = KillChange & { readonly scope: string }
type Done = { readonly round: KillRound; readonly warning?: string }
type Stop = { readonly announcement: KillAnnouncement; readonly by: Actor }

/** First to the gateways, then to the database: a database that fails or hangs must not delay a stop. */
async function activate(deps: KillSwitchDeps, change: Scoped, deadline: Deadline): Promise<Done> {
  const reason = change.reason?.trim() || NO_REASON
  const since = new Date(deps.clock.nowMs()).toISOString()
  const entry: KillEntry = { scope: change.scope, source: change.source, reason, since }
  const { round, announcement } = deps.hub.kill.announce(entry)
  const isStored = await deadline.limit(storeOrRetry(deps, { announcement, by: change.by }), false)
  return isStored ? { round } : { round, warning: NOT_STORED }
}

/** False when it could not be stored yet; it is then tried again until it is. */
async function storeOrRetry(deps: KillSwitchDeps, stop: Stop): Promise<boolean> {
  const { scope } = stop.announcement.entry
  try {
    await store(deps, stop)
    return true
  } catch (error) {
    deps.log.error({ err: error, scope }, 'kill switch sent to the gateways but not stored, trying again')
    const retry = () => {
      if (deps.hub.kill.isAnnounced(stop.announcement.id)) void storeOrRetry(deps, stop)
    }
    setTimeout(retry, RETRY_MS).unref()
    return false
  }
}

async function store(deps: KillSwitchDeps, { announcement, by }: Stop): Promise<void> {
  const { db, orgId, hub } = deps
  const { id, entry } = announcement
  const { scope, source, reason } = entry
  const row = { orgId, scope, source, reason, activatedBy: by.label }
  await db.tx(async (q) => {
    // Another replica may have stored it, after which it may have been lifted.
    if (!(await settleAnnouncement(q, id))) return
    if (await latchKillSwitch(q, row)) await auditActivated(q, row, by)
    await deps.cancelStopped(q, { ...entry, by })
  })
  hub.kill.settle(id)
  await hub.kill.refresh()
}

/**
 * First the database, then the gateways: nobody is let go while the record still says stopped. It waits for the
 * database, because a lift that one replica alone knows would be undone by every other. One transaction: it is done
 * or not, and when the answer of the commit is lost, the next read shows which.
 */
async function lift(deps: KillSwitchDeps, change: Scoped): Promise<Done> {
  const { db, orgId, hub } = deps
  await db.tx(async (q) => {
    // A stop that could not be stored yet ends here: it cancels all the same what it covered.
    for (const { id, entry } of unstored(deps, change)) {
      await settleAnnouncement(q, id)
      await deps.cancelStopped(q, { ...entry, by: change.by })
    }
    const sources = await release(q, orgId, change)
    if (sources.length === 0) return
    const { scope, reason, by, override } = change
    const details = {
      scope,
      deactivated_by: by.label,
      reason: reason ?? null,
      sources,
      override: override ?? false,
    }
    await appendAudit(q, { orgId, actor: by, eventType: 'kill_switch.deactivated', details })
  })
  hub.kill.retract(change.scope, change.override === true ? null : change.source)
  await hub.kill.refresh()
  return { round: hub.kill.round() }
}

function unstored({ hub }: KillSwitchDeps, { scope, source, override }: Scoped): readonly KillAnnouncement[] {
  const isLifted = ({ entry }: KillAnnouncement) =>
    entry.scope === scope && (override === true || entry.source === source)
  return hub.kill.announcements().filter(isLifted)
}

async function release(q: Query, orgId: string, { scope, source, override }: Scoped): Promise<string[]> {
  if (override === true) return releaseKillScope(q, orgId, scope)
  return (await releaseKillSwitch(q, { orgId, scope, source })) ? [source] : []
}

async function replaceSource(
  { orgId, cancelStopped }: KillSwitchDeps,
  q: Query,
  wanted: KillSource,
): Promise<boolean> {
  const { source, reason } = wanted
  const by = systemActor(wanted.by)
  let isChanged = false
  for (const scope of wanted.scopes) {
    const row = { orgId, scope, source, reason, activatedBy: by.label }
    if (await latchKillSwitch(q, row)) {
      isChanged = true
      await auditActivated(q, row, by)
    }
    await cancelStopped(q, { scope, source, reason, by })
  }
  const surplus = (await scopesOfSource(q, orgId, source)).filter((scope) => !wanted.scopes.includes(scope))
  for (const scope of surplus) {
    await releaseKillSwitch(q, { orgId, scope, source })
    const details = {
      scope,
      deactivated_by: by.label,
      reason: null,
      sources: [source],
      override: false,
    }
    await appendAudit(q, { orgId, actor: by, eventType: 'kill_switch.deactivated', details })
  }
  return isChanged || surplus.length > 0
}

async function auditActivated(q: Query, row: KillInput, by: Actor): Promise<void> {
  const { scope, reason, source } = row
  await appendAudit(q, {
    ...{ orgId: row.orgId, actor: by, eventType: 'kill_switch.activated' },
    details: { scope, activated_by: by.label, reason, source },
  })
}

/** The scope as stored; absent means `all`. Throws `validation` for what is none. */
export function checkedScope(scope: string | undefined): string {
  if (scope === undefined || isKillScope(scope)) return normaliseScope(scope)
  const detail = `scope: ${KILL_SCOPE_FORMS}`
  throw new ChaperoneError('validation', { detail, extra: { details: detail } })
}
