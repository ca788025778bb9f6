import { type StatusBody, SYNC_PATHS } from '../../core/wire/gateway/sync.ts'
import type { Log } from '../process/log.ts'
import type { ControlClient } from './client/client.ts'

/** Reports the status of this process to the control plane: after each connect, and every 5 s. */
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
      // A lost report is harmless: the next report follows within seconds, and the open stream itself proves the
      // presence of the process.
      .catch((error: unknown) =>
        deps.log.debug(
          { err: error },
          'status could not be reported to the control plane; the next report follows within seconds',
        ),
      )
  }
  const timer = setInterval(report, EVERY_MS).unref()
  return { now: report, close: () => clearInterval(timer) }
}
