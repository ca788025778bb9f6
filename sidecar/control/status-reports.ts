import { type StatusBody, SYNC_PATHS } from '../../core/wire/gateway/sync.ts'
import type { Log } from '../process/log.ts'
import type { ControlClient } from './client/client.ts'

/** Tells the control plane how this process fares: after each connect, and every few seconds. */
export type StatusReports = { now(): void; close(): void }

const EVERY_MS = 5_000

export function createStatusReports(deps: {
  readonly client: ControlClient
  readonly isConnected: () => boolean
  readonly status: () => StatusBody
  readonly log: Pick<Log, 'debug'>
}): StatusReports {
  const report = (): void => {
    if (!deps.isConnected()) return
    deps.client
      .post(SYNC_PATHS.status, deps.status())
      // The next report is seconds away, and the stream itself tells who is there.
      .catch((error: unknown) => deps.log.debug({ err: error }, 'status not reported'))
  }
  const timer = setInterval(report, EVERY_MS).unref()
  return { now: report, close: () => clearInterval(timer) }
}
