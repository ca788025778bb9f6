import * as z from 'zod'
import { MintError } from './mint.ts'

const Secrets = z.strictObject({
  client_secret: z.string().min(1).optional(),
  refresh_token: z.string().min(1).optional(),
  subject_token: z.string().min(1).optional(),
})

export type SourceSecrets = z.infer<typeof Secrets>

/**
 * Parses the stored value: either a JSON object of secrets, or the plain text of a single secret, whose name
 * is `only`. Throws a `MintError` for an invalid object; its message does not contain the value.
 */
export function readSourceSecrets(value: string, only: keyof SourceSecrets): SourceSecrets {
  if (!value.trimStart().startsWith('{')) return { [only]: value.trim() }
  const parsed = Secrets.safeParse(parse(value))
  if (parsed.success) return parsed.data
  throw new MintError(
    'The stored secret is a JSON object with other members than client_secret, refresh_token and subject_token. Store a JSON object that has only these members, each with a text as value.',
  )
}

function parse(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    throw new MintError(
      'The stored secret begins with { and is not valid JSON. Store a JSON object, or the secret alone.',
    )
  }
}
