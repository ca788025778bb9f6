import type { Logger } from 'pino'
import { CHANGES_CHANNEL } from '../../db/config-version.ts'
import type { Db } from '../../db/query.ts'
import { KILL_PAYLOAD, PODS_PAYLOAD, PROCESSES_PAYLOAD, SYNC_CHANNEL } from '../../db/sync-channel.ts'
import { MAILBOX_PAYLOAD } from '../replica-mailbox-store.ts'

export type WatchDeps = {
  readonly db: Db
  readonly log: Logger
  readonly refreshConfiguration: () => Promise<void>
  readonly refreshKill: () => Promise<void>
  readonly refreshVerdicts: () => Promise<void>
  readonly refreshProcesses: () => Promise<void>
  /** Called when a replica stored a verdict. */
  readonly onVerdict: () => void
  /** Called when another replica reported a change of its processes. */
  readonly onProcesses: () => void
  readonly refreshMailbox: () => Promise<void>
  readonly refreshPods: () => Promise<void>
  /** Called when another replica published a message for a process of this replica. */
  readonly onMailbox: (processId: string) => void
}

const POLL_MS = 2_000

/**
 * Watches for changes that any replica made. Notifications deliver changes at once, and a poll every two seconds covers
 * lost notifications. Both run the same few queries, which are cheap when nothing changed.
 */
export async function watchChanges(deps: WatchDeps): Promise<AsyncDisposable> {
  const { db, log } = deps
  const run = (work: () => Promise<void>) =>
    void work().catch((error: unknown) => log.error({ err: error }, 'changes for gateways could not be read'))
  const refreshAll = () => {
    run(deps.refreshKill)
    run(deps.refreshConfiguration)
    run(deps.refreshVerdicts)
    run(deps.refreshProcesses)
    run(deps.refreshMailbox)
    run(deps.refreshPods)
  }
  // Handlers by the payload of a notification. A payload without a handler starts with `MAILBOX_PAYLOAD` or is the id
  // of an approval.
  const byPayload = new Map([
    ['', refreshAll],
    [KILL_PAYLOAD, () => run(deps.refreshKill)],
    [PODS_PAYLOAD, () => run(deps.refreshPods)],
    [PROCESSES_PAYLOAD, deps.onProcesses],
  ])
  const changes = await db.listen(CHANGES_CHANNEL, () => run(deps.refreshConfiguration))
  const sync = await db.listen(SYNC_CHANNEL, (payload) => {
    const handle = byPayload.get(payload) ?? deps.onVerdict
    if (payload.startsWith(MAILBOX_PAYLOAD)) deps.onMailbox(payload.slice(MAILBOX_PAYLOAD.length))
    else handle()
  })
  const poll = setInterval(refreshAll, POLL_MS)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(poll)
      await changes[Symbol.asyncDispose]()
      await sync[Symbol.asyncDispose]()
    },
  }
}
