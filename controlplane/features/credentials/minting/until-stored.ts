import { sleep } from '../../../../runtime/sleep.ts'

/** Milliseconds between two attempts to store a result. */
const RETRY_MS = 1_000
/**
 * Maximum number of attempts to store a refresh token. The source may have voided the former refresh token. If the new
 * refresh token is lost, a user must store another credential.
 */
const MAX_ATTEMPTS = 600

type Storing = { readonly rotated: string | null; readonly disposed: AbortSignal }

/**
 * Writes the result of a minting. A failed write is repeated if the result contains a refresh token (`rotated`), until
 * the write succeeds, the maximum number of attempts is reached, or `disposed` is aborted.
 */
export async function untilStored(write: () => Promise<void>, { rotated, disposed }: Storing): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    try {
      await write()
      return
    } catch (error) {
      if (rotated === null || attempts === MAX_ATTEMPTS || disposed.aborted) throw error
      await sleep(RETRY_MS, disposed)
    }
  }
}
