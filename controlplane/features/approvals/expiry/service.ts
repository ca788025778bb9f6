import type { Logger } from 'pino'
import type { Db, Query } from '../../../db/query.ts'
import { systemActor } from '../../audit/actor.ts'
import { recordEvents } from '../../audit/events.ts'
import type { ApprovalRow } from '../rows.ts'
import { expireOverdue, hasPending } from './overdue-store.ts'

export type EndedHook = ((q: Query, row: ApprovalRow) => Promise<void>) | undefined

/**
 * Records the audit events of expired approvals and calls `onEnded`, in the transaction that expired these approvals.
 */
export async function appendExpired(
  q: Query,
  rows: readonly ApprovalRow[],
  onEnded: EndedHook,
): Promise<void> {
  if (rows.length === 0) return
  const events = rows.map((row) => ({
    orgId: row.orgId,
    actor: systemActor('installation'),
    type: 'approval.expired' as const,
    agentId: row.agentId,
    actionRequestId: row.actId,
    details: {
      approval_id: row.id,
      action_type: row.card.action_type,
      expired_at: row.expiresAt.toISOString(),
    },
  }))
  await recordEvents(q, events)
  for (const row of rows) await onEnded?.(q, row)
}

/**
 * Expires overdue approvals: every second while any approval is pending, otherwise every 30 s. Call `wake` when an
 * approval was opened.
 */
export type ExpirySweeper = Disposable & { wake(): void }

const BUSY_MS = 1_000
const IDLE_MS = 30_000

export function createExpirySweeper(deps: { db: Db; log: Logger; onEnded?: EndedHook }): ExpirySweeper {
  let timer: NodeJS.Timeout | undefined
  /** Time of the next sweep, in milliseconds of `performance.now()`. */
  let dueAt = 0
  let isDisposed = false
  let isRunning = false
  let isWoken = false

  async function sweep(): Promise<boolean> {
    await deps.db.tx(async (q) => appendExpired(q, await expireOverdue(q), deps.onEnded))
    return hasPending(deps.db)
  }

  async function run(): Promise<void> {
    if (isRunning || isDisposed) return
    isRunning = true
    isWoken = false
    const isBusy = await sweep().catch((error: unknown) => {
      deps.log.error({ err: error }, 'approvals could not be expired')
      return true
    })
    isRunning = false
    if (!isDisposed) schedule(isBusy || isWoken ? BUSY_MS : IDLE_MS)
  }

  function schedule(delayMs: number): void {
    clearTimeout(timer)
    dueAt = performance.now() + delayMs
    timer = setTimeout(() => void run(), delayMs)
  }

  schedule(0)
  return {
    wake() {
      // A running sweep may have read the approvals before the new approval was stored, so another sweep follows.
      isWoken = true
      // A due sweep keeps its time: approvals that are opened in quick succession must not postpone it.
      if (!isRunning && dueAt - performance.now() > BUSY_MS) schedule(BUSY_MS)
    },
    [Symbol.dispose]() {
      isDisposed = true
      clearTimeout(timer)
    },
  }
}
