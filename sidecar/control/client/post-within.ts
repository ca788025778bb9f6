import { sleep } from '../../../runtime/sleep.ts'
import type { ControlClient, ControlReply } from './client.ts'

/**
 * Posts to the control plane. Resolves within `timeoutMs` milliseconds, with undefined when there is no reply by then.
 * Rejects when the call fails earlier. Unlike the time limit of `post`, `timeoutMs` includes the wait for a connection.
 * The control plane may still process the call afterwards.
 */
export async function postWithin(
  client: ControlClient,
  path: string,
  body: object,
  timeoutMs: number,
): Promise<ControlReply | undefined> {
  const pending = client.post(path, body, timeoutMs)
  // After the time limit the call may still reject. An unhandled rejection would end the process.
  pending.catch(() => undefined)
  const replied = new AbortController()
  const timeout = sleep(timeoutMs, replied.signal).then(() => undefined)
  return await Promise.race([pending, timeout]).finally(() => replied.abort())
}
