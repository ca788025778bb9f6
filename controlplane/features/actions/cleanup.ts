import type { Logger } from 'pino'
import type { Db } from '../../db/query.ts'
import { endInterrupted } from './executions/sweeper.ts'

const SWEEP_INTERVAL_MS = 15_000

export type ActionUpkeepDeps = { readonly db: Db; readonly log: Logger }

/** Ends executions whose replica crashed. Runs at the start and every 15 s, on one replica at a time. */
export function createActionUpkeep(deps: ActionUpkeepDeps): AsyncDisposable {
  let timer: NodeJS.Timeout | undefined
  let isDisposed = false
  let running = run()

  async function run(): Promise<void> {
    if (isDisposed) return
    await sweep(deps).catch((error: unknown) => {
      deps.log.error({ err: error }, 'interrupted executions could not be ended')
    })
    if (isDisposed) return
    timer = setTimeout(() => {
      running = run()
    }, SWEEP_INTERVAL_MS)
  }

  return {
    async [Symbol.asyncDispose]() {
      isDisposed = true
      clearTimeout(timer)
      await running
    },
  }
}

async function sweep({ db, log }: ActionUpkeepDeps): Promise<void> {
  for (const { actId, orderId, result } of await endInterrupted(db)) {
    const fields = { action_request_id: actId, order_id: orderId, has_result: result !== null }
    log.warn(fields, 'interrupted execution ended')
  }
}
