const ATTEMPTS = 3
const PAUSE_MS = 400

/** A chunk of the bundle, asked for again when the network was away for a moment. Rejects like the last attempt. */
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
