import { type AckBody, SYNC_PATHS } from '../../core/wire/sync.ts'
import { pause } from './backoff.ts'
import type { ControlClient } from './client.ts'

/** Says what was applied. Tried a few times only: after a reconnect the control plane sends its state anew anyway. */
export type Acks = (body: AckBody) => void

const ATTEMPTS = 3

export function createAcks(
  client: ControlClient,
  log: { debug(fields: object, message: string): void },
): Acks {
  const never = new AbortController().signal
  const send = async (body: AckBody): Promise<void> => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      try {
        if ((await client.post(SYNC_PATHS.ack, body)).status < 500) return
      } catch (error) {
        log.debug({ err: error, attempt }, 'not acknowledged')
      }
      await pause(100 * attempt, never)
    }
  }
  return (body) => void send(body)
}
