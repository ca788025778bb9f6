import { type AckBody, SYNC_PATHS } from '../../core/wire/gateway/sync.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { Log } from '../process/log.ts'
import type { ControlClient } from './client/client.ts'

/**
 * Sends an acknowledgement. Resolves when it was delivered, or after a few failed attempts. A failed acknowledgement
 * loses nothing, because the control plane sends its state again after a reconnect. Never rejects.
 */
export type Acks = (body: AckBody) => Promise<void>

const ATTEMPTS = 3

export function createAcks(client: ControlClient, log: Pick<Log, 'debug'>): Acks {
  return async (body) => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      try {
        if ((await client.post(SYNC_PATHS.ack, body)).status < 500) return
      } catch (error) {
        log.debug(
          { err: error, attempt },
          'acknowledgement could not be delivered to the control plane, which sends its state again after a reconnect',
        )
      }
      await sleep(100 * attempt)
    }
  }
}
