import type { Logger } from 'pino'
import { CHANGES_CHANNEL } from '../../db/config-version.ts'
import { PROCESSES_PAYLOAD } from '../../features/gateways/process-store.ts'
import { KILL_PAYLOAD, SYNC_CHANNEL } from '../../features/kill-switch/store.ts'
import { PODS_PAYLOAD } from '../../features/pods/store.ts'
import { WORD_PAYLOAD } from '../process-words-store.ts'
import type { Db } from '../../db/query.ts'

export type WatchDeps = {
  readonly db: Db
  readonly log: Logger
  readonly refreshConfiguration: () => Promise<void>
  readonly refreshKill: () => Promise<void>
  readonly refreshVerdicts: () => Promise<void>
  readonly refreshProcesses: () => Promise<void>
  readonly refreshWords: () => Promise<void>
  readonly refreshPods: () => Promise<void>
  /** Another replica was told something by this process. */
  readonly heardWord: (processId: string) => void
}

const POLL_MS = 2_000

/**
 * Hears of changes that any replica made. Notifications make it quick; looking every two seconds makes it certain.
 * Both end in the same few questions, which cost little when nothing changed.
 */
export async function watchChanges(deps: WatchDeps): Promise<AsyncDisposable> {
  const { db, log } = deps
  const run = (work: () => Promise<void>) =>
    void work().catch((error: unknown) => log.error({ err: error }, 'changes for gateways could not be read'))
  const look = () => {
    run(deps.refreshKill)
    run(deps.refreshConfiguration)
    run(deps.refreshVerdicts)
    run(deps.refreshProcesses)
    run(deps.refreshWords)
    run(deps.refreshPods)
  }
  // Anything else is the id of an approval.
  const byPayload = new Map([
    [KILL_PAYLOAD, deps.refreshKill],
    [PROCESSES_PAYLOAD, deps.refreshProcesses],
    [PODS_PAYLOAD, deps.refreshPods],
  ])
  const changes = await db.listen(CHANGES_CHANNEL, () => run(deps.refreshConfiguration))
  const sync = await db.listen(SYNC_CHANNEL, (payload) => {
    if (payload === '') look()
    else if (payload.startsWith(WORD_PAYLOAD)) deps.heardWord(payload.slice(WORD_PAYLOAD.length))
    else run(byPayload.get(payload) ?? deps.refreshVerdicts)
  })
  const poll = setInterval(look, POLL_MS)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(poll)
      await changes[Symbol.asyncDispose]()
      await sync[Symbol.asyncDispose]()
    },
  }
}
