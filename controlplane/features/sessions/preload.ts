import type { Logger } from 'pino'

const INTERVAL_MS = 60_000

/**
 * Caches the valid sessions now and every minute. A user can then activate a kill switch while the database does not
 * answer, even if this replica has not received a request of the session before. Resolves after the first read, whether
 * it succeeded or not.
 */
export async function startSessionPreload(
  read: () => Promise<void>,
  log: Pick<Logger, 'warn'>,
  intervalMs = INTERVAL_MS,
): Promise<Disposable> {
  let isReading = false
  const attempt = async () => {
    if (isReading) return
    isReading = true
    try {
      await read()
    } catch (err) {
      log.warn(
        { err },
        'the valid sessions could not be read from the database; until a read succeeds, the kill switch accepts those of the last read',
      )
    } finally {
      isReading = false
    }
  }
  await attempt()
  const timer = setInterval(() => void attempt(), intervalMs).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
