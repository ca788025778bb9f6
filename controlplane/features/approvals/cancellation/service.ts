import { killReason } from '../../../../core/decision/kill-switch/kill-switch.ts'
import type { Instance } from '../../../../core/wire/gateway/instance.ts'
import type { KillEntry } from '../../../../core/wire/gateway/kill.ts'
import { LIMITS } from '../../../../core/wire/schema/limits.ts'
import type { Query } from '../../../db/query.ts'
import type { ActionKillChecks } from '../../actions/cancellation/kill-checks.ts'
import type { ActionCancellation } from '../../actions/cancellation/service.ts'
import { type ActionRow, listActions } from '../../actions/rows.ts'
import type { Notify } from '../../actions/submission/service.ts'
import type { Actor } from '../../audit/actor.ts'
import { recordEvents } from '../../audit/events.ts'
import { listConnectorNames } from '../../connectors/rows.ts'
import { type HoldSubject, killOfHold } from './killed-holds.ts'
import { cancelApprovals, lockUsableApprovals, type UsableApproval } from './store.ts'

export type ActivatedKill = Pick<KillEntry, 'scope' | 'source' | 'reason'> & { readonly by: Actor }

/** Cancels every usable approval in the scope of a kill switch, in the transaction that stores the kill switch. */
export type CancelKilled = (q: Query, kill: ActivatedKill) => Promise<void>

export type CancelKilledDeps = {
  readonly orgId: string
  readonly killChecks: Pick<ActionKillChecks, 'of'>
  readonly actions: ActionCancellation
  readonly notify: Notify
}

const VIA = 'kill_switch'

export function createCancelKilled(deps: CancelKilledDeps): CancelKilled {
  return async (q, kill) => {
    const usable = await lockUsableApprovals(q, deps.orgId, LIMITS.approvedRetryWindowS)
    if (usable.length === 0) return
    const actions = new Map((await listActions(q, actionsOf(usable))).map((row) => [row.id, row]))
    const names = usable.some(isUnnamed) ? await listConnectorNames(q) : new Map<string, string[]>()
    const entry: KillEntry = { scope: kill.scope, source: kill.source, reason: kill.reason, since: '' }
    const isStopped = (approval: UsableApproval): boolean => {
      if (approval.kind === 'hold') return killOfHold([entry], subjectOf(approval, names)) !== null
      const action = actions.get(approval.actId ?? '')
      return action !== undefined && deps.killChecks.of(action, [entry]) !== null
    }
    const cancelled = await withoutUsed(q, deps.actions, usable.filter(isStopped))
    await cancel(q, deps, { cancelled, actions, kill })
  }
}

/**
 * Returns the names of a stored approval with which the scopes of kill switches are compared. An approval of an older
 * gateway has no connector name, so the names of all connectors of its type are returned.
 */
function subjectOf(approval: UsableApproval, names: ReadonlyMap<string, readonly string[]>): HoldSubject {
  const { gateway, agent, agentId, card } = approval
  const type = card.connector ?? ''
  const own = card.connector_name === undefined ? (names.get(type) ?? []) : [card.connector_name]
  return {
    gateway: gateway ?? '',
    agent,
    agentId,
    connectors: [type, ...own, ...(card.reached_connectors ?? [])],
    instance: presentInstance(approval),
  }
}

/**
 * Returns the instance of the hold with its present claim: a claim may have adopted the Sandbox since the hold was
 * opened.
 */
function presentInstance({ card: { instance }, claim }: UsableApproval): Instance | null {
  if (instance === undefined) return null
  return claim === null ? instance : { ...instance, claim }
}

function isUnnamed({ kind, card }: UsableApproval): boolean {
  return kind === 'hold' && card.connector_name === undefined
}

/**
 * Spends the unused decision tokens of approved actions. Returns the given approvals, except those of approved actions
 * whose token was already used or had expired.
 */
async function withoutUsed(
  q: Query,
  { cancelTokens }: ActionCancellation,
  approvals: readonly UsableApproval[],
): Promise<readonly UsableApproval[]> {
  const approved = approvals.filter(({ kind, status }) => kind === 'action' && status === 'approved')
  const unused = new Set(await cancelTokens(q, actionsOf(approved)))
  return approvals.filter((one) => !approved.includes(one) || unused.has(one.actId ?? ''))
}

type Cancelled = {
  readonly cancelled: readonly UsableApproval[]
  readonly actions: ReadonlyMap<string, ActionRow>
  readonly kill: ActivatedKill
}

async function cancel(q: Query, deps: CancelKilledDeps, given: Cancelled): Promise<void> {
  const { cancelled, actions, kill } = given
  if (cancelled.length === 0) return
  const note = killReason({ ...kill, since: '' })
  await cancelApprovals(
    q,
    cancelled.map(({ id }) => id),
    { by: kill.by.label, via: VIA, note },
  )
  await deps.actions.cancel(q, actionsOf(cancelled))
  await recordEvents(
    q,
    cancelled.map(({ id, agentId, actId, status, card }) => ({
      orgId: deps.orgId,
      actor: kill.by,
      type: 'action.cancelled' as const,
      agentId: actions.get(actId ?? '')?.agentId ?? agentId,
      actionRequestId: actId,
      details: {
        action_type: card.action_type,
        previous_status: status === 'pending' ? 'pending_approval' : 'allowed',
        approval_id: id,
        reason: note,
        scope: kill.scope,
        cancelled_by: kill.by.label,
      },
    })),
  )
  for (const { actId } of cancelled) {
    const action = actions.get(actId ?? '')
    if (action?.webhook != null) await deps.notify(q, { ...action, status: 'cancelled' }, 'action.cancelled')
  }
}

function actionsOf(approvals: readonly UsableApproval[]): string[] {
  return approvals.flatMap(({ kind, actId }) => (kind === 'action' && actId !== null ? [actId] : []))
}
