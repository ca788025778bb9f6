import { sleep } from '../../process/sleep.ts'
import type { ControlClient, ControlReply } from './client.ts'

/**
 * Posts to the control plane and resolves within `timeoutMs`, with undefined when there is no reply by then. Unlike the
 * time limit of `post`, this includes the wait for a connection. The control plane may still process a late call.
 */
export async function postWithin(
  client: ControlClient,
  path: string,
  body: object,
  timeoutMs: number,
): Promise<ControlReply | undefined> {
  const pending = client.post(path, body, timeoutMs)
  // Rejects unobserved when the time limit has passed.
  pending.catch(() => undefined)
  const replied = new AbortController()
  const timeout = sleep(timeoutMs, replied.signal).then(() => undefined)
  return await Promise.race([pending, timeout]).finally(() => replied.abort())
}
