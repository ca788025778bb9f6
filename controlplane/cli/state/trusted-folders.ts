import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import { parseJson } from './parse-json.ts'
import { readStateFile, writeStateFile } from './state-home.ts'

const FILE = 'trusted-folders.json'
const Stored = z.object({ folders: z.array(z.string()) })

/**
 * Returns the real paths of data folders in working trees that this user trusts. Throws `conflict` when the list is
 * damaged.
 */
export function trustedFolders(env: NodeJS.ProcessEnv): readonly string[] {
  const text = readStateFile(env, FILE)
  if (text === undefined) return []
  const parsed = Stored.safeParse(parseJson(text))
  if (parsed.success) return parsed.data.folders
  throw new ChaperoneError('conflict', {
    detail: `The list of trusted folders (${FILE} in your state folder) is damaged. Remove it, and trust the folders again.`,
  })
}

export function setTrustedFolders(env: NodeJS.ProcessEnv, folders: readonly string[]): void {
  writeStateFile(env, FILE, `${JSON.stringify({ folders: [...new Set(folders)].sort() })}\n`)
}
