import type { Logger } from 'pino'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Db } from '../../db/query.ts'
import { endInterrupted } from '../executions/sweeper.ts'
import { sealOldWebhooks } from './webhook-address.ts'

const LOOK_MS = 15_000

export type ActionUpkeepDeps = { readonly db: Db; readonly keyring: Keyring; readonly log: Logger }

/**
 * Repairs stored actions: ends executions whose replica crashed, and seals webhook addresses stored in plain text by
 * older versions. Runs at the start and every 15 s; on one replica at a time.
 */
export function createActionUpkeep(deps: ActionUpkeepDeps): AsyncDisposable {
  let timer: NodeJS.Timeout | undefined
  let isDisposed = false
  let running = look()

  async function look(): Promise<void> {
    await attempt('interrupted executions could not be ended', () => sweep(deps))
    await attempt('webhook addresses could not be sealed', () => seal(deps))
    if (isDisposed) return
    timer = setTimeout(() => {
      running = look()
    }, LOOK_MS)
  }

  async function attempt(failed: string, work: () => Promise<void>): Promise<void> {
    if (isDisposed) return
    await work().catch((error: unknown) => deps.log.error({ err: error }, failed))
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

async function seal(deps: ActionUpkeepDeps): Promise<void> {
  const sealed = await sealOldWebhooks(deps)
  if (sealed > 0) deps.log.info({ sealed }, 'webhook addresses of an older version sealed')
}
