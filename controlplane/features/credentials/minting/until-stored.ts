import { setTimeout as delay } from 'node:timers/promises'

/** Milliseconds between two attempts. */
const RETRY_MS = 1_000
/** Limit of attempts to store a refresh token. The source has voided the one before: a user must replace a lost one. */
const MAX_ATTEMPTS = 600

type Storing = { readonly rotated: string | null; readonly disposed: AbortSignal }

/** Writes a result. A write of a refresh token is repeated until it succeeds, up to the limit and the disposal. */
export async function untilStored(write: () => Promise<void>, { rotated, disposed }: Storing): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    try {
      await write()
      return
    } catch (error) {
      if (rotated === null || attempts === MAX_ATTEMPTS || disposed.aborted) throw error
      await delay(RETRY_MS, undefined, { signal: disposed }).catch(() => undefined)
    }
  }
}
