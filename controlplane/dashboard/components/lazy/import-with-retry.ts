const ATTEMPTS = 3
const PAUSE_MS = 400

/**
 * Imports a chunk of the bundle, with retries for short network failures. Rejects with the error of the last attempt.
 */
export async function importWithRetry<T>(load: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await load()
    } catch (error) {
      if (attempt === ATTEMPTS) throw error
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * attempt))
    }
  }
}
