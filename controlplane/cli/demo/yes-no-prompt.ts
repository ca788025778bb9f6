import { createInterface } from 'node:readline/promises'

/** Prompts for yes or no. Resolves with null when the signal is aborted first. */
export async function promptYesNo(question: string, signal: AbortSignal): Promise<boolean | null> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    let answer: string
    do answer = (await terminal.question(question, { signal })).trim().toLowerCase()
    while (!/^(y|yes|n|no)$/.test(answer))
    return answer.startsWith('y')
  } catch (error) {
    if (signal.aborted) return null
    throw error
  } finally {
    terminal.close()
  }
}
