import { text } from 'node:stream/consumers'
import { ChaperoneError } from '../../../core/errors.ts'
import { openPrompt } from './prompt.ts'

/**
 * Reads a secret. At a terminal, prompts for the secret without echo; otherwise reads all of standard input. A secret
 * in an argument would be visible in process lists.
 */
export async function readSecret(label: string): Promise<string> {
  const secret = (await read(label)).trim()
  if (secret !== '') return secret
  throw new ChaperoneError('validation', {
    detail: 'Standard input is empty. Nothing was changed. Pipe the secret into the command.',
  })
}

async function read(label: string): Promise<string> {
  if (process.stdin.isTTY !== true) return text(process.stdin)
  using prompt = openPrompt()
  return prompt.askSecret(label)
}
