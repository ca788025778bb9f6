import type { Logger } from 'pino'
import type { Db } from '../../db/query.ts'
import { endInterrupted } from './executions/sweeper.ts'
import { recordRefusedItems } from './submission/refused-items.ts'

const EVERY_MS = 15_000

export type ActionUpkeepDeps = { readonly db: Db; readonly orgId: string; readonly log: Logger }

/**
 * Ends executions whose replica crashed, and records refused items of batches once their minute has ended. Runs at the
 * start and every 15 s, on one replica at a time, until disposed.
 */
export class ActionUpkeep implements AsyncDisposable {
  readonly #deps: ActionUpkeepDeps
  #timer: NodeJS.Timeout | undefined
  #isDisposed = false
  #running: Promise<void>

  constructor(deps: ActionUpkeepDeps) {
    this.#deps = deps
    this.#running = this.#run()
  }

  async #run(): Promise<void> {
    const { db, orgId, log } = this.#deps
    await recordRefusedItems(db, orgId).catch((error: unknown) => {
      log.error({ err: error }, 'could not record refused items of batches, trying again')
    })
    await sweep(this.#deps).catch((error: unknown) => {
      log.error(
        { err: error },
        'could not end the executions of actions that a stopped replica left open, trying again',
      )
    })
    if (this.#isDisposed) return
    this.#timer = setTimeout(() => {
      this.#running = this.#run()
    }, EVERY_MS)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true
    clearTimeout(this.#timer)
    await this.#running
  }
}

async function sweep({ db, log }: ActionUpkeepDeps): Promise<void> {
  for (const { actId, orderId, result } of await endInterrupted(db)) {
    const fields = { action_request_id: actId, order_id: orderId, has_result: result !== null }
    log.warn(
      fields,
      'an execution that a stopped replica left open was ended; its result is in the action request',
    )
  }
}
