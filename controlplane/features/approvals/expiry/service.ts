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

const BUSY_MS = 1_000
const IDLE_MS = 30_000

type SweeperDeps = { readonly db: Db; readonly log: Logger; readonly onEnded?: EndedHook }

/**
 * Expires overdue approvals until disposed: every second while any approval is pending, otherwise every 30 s. Call
 * `wake` when an approval was opened.
 */
export class ExpirySweeper implements Disposable {
  readonly #deps: SweeperDeps
  #timer: NodeJS.Timeout | undefined
  /** Time of the next sweep, in milliseconds of `performance.now()`. */
  #dueAt = 0
  #isDisposed = false
  #isRunning = false
  #isWoken = false

  constructor(deps: SweeperDeps) {
    this.#deps = deps
    this.#schedule(0)
  }

  wake(): void {
    // A running sweep may have read the approvals before the new approval was stored, so another sweep follows.
    this.#isWoken = true
    // A sweep that is due within `BUSY_MS` keeps its time, because approvals in quick succession must not postpone
    // it.
    if (!this.#isRunning && this.#dueAt - performance.now() > BUSY_MS) this.#schedule(BUSY_MS)
  }

  async #run(): Promise<void> {
    if (this.#isRunning || this.#isDisposed) return
    this.#isRunning = true
    this.#isWoken = false
    const isBusy = await sweep(this.#deps).catch((error: unknown) => {
      this.#deps.log.error({ err: error }, 'approvals could not be expired')
      return true
    })
    this.#isRunning = false
    if (!this.#isDisposed) this.#schedule(isBusy || this.#isWoken ? BUSY_MS : IDLE_MS)
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer)
    this.#dueAt = performance.now() + delayMs
    this.#timer = setTimeout(() => void this.#run(), delayMs)
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true
    clearTimeout(this.#timer)
  }
}

/** Expires overdue approvals. Returns whether any approval is still pending. */
async function sweep({ db, onEnded }: SweeperDeps): Promise<boolean> {
  await db.tx(async (q) => appendExpired(q, await expireOverdue(q), onEnded))
  return hasPending(db)
}
