import type { Logger } from 'pino'
import { type UnknownScope, unknownScope } from '../../core/decision/kill-scope-names.ts'
import { isKillScope, KILL_SCOPE_FORMS, normaliseScope } from '../../core/decision/kill-switch.ts'
import { ChaperoneError } from '../../core/errors.ts'
import type { KillEntry } from '../../core/wire/kill.ts'
import { type Actor, appendAudit, systemActor } from '../store/audit.ts'
import { listKillNames } from '../store/kill-names.ts'
import {
  type KillInput,
  latchKillSwitch,
  releaseKillScope,
  releaseKillSwitch,
  scopesOfSource,
} from '../store/kill-switches.ts'
import type { Db, Query } from '../store/query.ts'
import type { Clock } from '../sync/clock.ts'
import type { Hub } from '../sync/hub.ts'
import type { KillAcks, KillRound } from '../sync/kill-round.ts'
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
  /** Present when the stop is in force on connected gateways but could not be stored, or when nothing bears the scope. */
  readonly warning?: string
  /** Present when nothing bears the scope: the scopes that were perhaps meant. */
  readonly nearest?: readonly string[]
}

export type KillSwitch = {
  effective(): readonly KillEntry[]
  /** Waits up to 2 s for the gateways' acknowledgements. Throws `validation` for a scope that is none. */
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

const ACK_TIMEOUT_MS = 2_000
const RETRY_MS = 1_000
const LOOK_UP_TIMEOUT_MS = 1_000
const NO_REASON = 'no reason given'

export function createKillSwitch(deps: KillSwitchDeps): KillSwitch {
  const { hub } = deps
  return {
    effective: hub.kill.effective,
    async set(change) {
      const scope = checkedScope(change.scope)
      const done = change.active
        ? await activate(deps, { ...change, scope })
        : await lift(deps, { ...change, scope })
      const acknowledged = await done.round.acknowledged(ACK_TIMEOUT_MS)
      const unknown = change.active ? await unknownScopeOf(deps, scope) : null
      const effective = hub.kill.effective()
      const reply = { ok: true, active: change.active, scope, effective } as const
      const warnings = [done.warning, unknown?.warning].filter((text) => text !== undefined)
      const warning = warnings.length === 0 ? {} : { warning: warnings.join(' ') }
      if (unknown === null) return { ...reply, acknowledged, ...warning }
      // Gateways have it, and it stops nothing in any of them.
      const none = { acked: 0, total: 0, ms: acknowledged.ms }
      return { ...reply, acknowledged: none, ...warning, nearest: unknown.nearest }
    },
    replaceSource: (q, source) => replaceSource(deps, q, source),
  }
}

/** Asked after the stop is set. A database that does not answer in time says nothing about the scope. */
async function unknownScopeOf({ db, orgId }: KillSwitchDeps, scope: string): Promise<UnknownScope | null> {
  if (scope === 'all') return null
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), LOOK_UP_TIMEOUT_MS)
  })
  const names = listKillNames(db, orgId).catch(() => null)
  const known = await Promise.race([names, late]).finally(() => clearTimeout(timer))
  return known === null ? null : unknownScope(scope, known)
}

type Scoped = KillChange & { readonly scope: string }
type Done = { readonly round: KillRound; readonly warning?: string }

/** First to the gateways, then to the database: a slow or dead database must not delay a stop. */
async function activate(deps: KillSwitchDeps, change: Scoped): Promise<Done> {
  const reason = change.reason?.trim() || NO_REASON
  const since = new Date(deps.clock.nowMs()).toISOString()
  const entry: KillEntry = { scope: change.scope, source: change.source, reason, since }
  const round = deps.hub.kill.announce(entry)
  try {
    await store(deps, change, entry)
    return { round }
  } catch (error) {
    deps.log.error(
      { err: error, scope: change.scope },
      'kill switch sent to the gateways but not stored, trying again',
    )
    storeLater(deps, change, entry)
    const warning =
      'Connected gateways were stopped, but the stop could not be stored: gateways that connect elsewhere do not know it yet. It is tried again until the database answers.'
    return { round, warning }
  }
}

async function store(deps: KillSwitchDeps, change: Scoped, entry: KillEntry): Promise<void> {
  const { db, orgId, hub } = deps
  const row = {
    orgId,
    scope: entry.scope,
    source: entry.source,
    reason: entry.reason,
    activatedBy: change.by.label,
  }
  await db.tx(async (q) => {
    if (await latchKillSwitch(q, row)) await auditActivated(q, row, change.by)
    await deps.cancelStopped(q, { ...entry, by: change.by })
  })
  hub.kill.settle(entry)
  await hub.kill.refresh()
}

function storeLater(deps: KillSwitchDeps, change: Scoped, entry: KillEntry): void {
  const retry = () => {
    if (!deps.hub.kill.isAnnounced(entry)) return
    store(deps, change, entry).catch((error: unknown) => {
      deps.log.warn({ err: error, scope: entry.scope }, 'kill switch still not stored')
      storeLater(deps, change, entry)
    })
  }
  const timer = setTimeout(retry, RETRY_MS)
  timer.unref()
}

/** First the database, then the gateways: nobody is let go while the record still says stopped. */
async function lift(deps: KillSwitchDeps, change: Scoped): Promise<Done> {
  const { db, orgId, hub } = deps
  await db.tx(async (q) => {
    // A stop that could not be stored yet ends here: it cancels all the same what it covered.
    for (const entry of unstored(deps, change)) await deps.cancelStopped(q, { ...entry, by: change.by })
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

function unstored({ hub }: KillSwitchDeps, { scope, source, override }: Scoped): readonly KillEntry[] {
  const isLifted = (entry: KillEntry) =>
    entry.scope === scope && (override === true || entry.source === source)
  return hub.kill.announced().filter(isLifted)
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
