import { createInterface } from 'node:readline/promises'

/** A yes or no from the terminal; null when the signal comes first (answered elsewhere). */
export async function askYesNo(question: string, signal: AbortSignal): Promise<boolean | null> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    for (;;) {
      const answer = (await terminal.question(question, { signal })).trim().toLowerCase()
      if (answer === 'y' || answer === 'yes') return true
      if (answer === 'n' || answer === 'no') return false
    }
  } catch (error) {
    if (signal.aborted) return null
    throw error
  } finally {
    terminal.close()
  }
}
