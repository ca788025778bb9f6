import { existsSync } from 'node:fs'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { randomToken } from './tokens.ts'

/** Reads a file with a secret and trims its text. Errors name the setting and never contain the text. */
export async function readSecretFile(path: string, setting: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${setting}: cannot read ${path} (${error.code}). Create the file or change the setting.`)
  })
  if (text.trim() === '')
    throw new Error(`${setting}: ${path} is empty. Write the secret to the file, or delete the file.`)
  return text.trim()
}

/**
 * Reads a token file. Creates a missing file with a random token and mode 0600. Writes to the folder only if the file
 * is missing.
 */
export async function readOrCreateToken(path: string, setting: string): Promise<string> {
  if (existsSync(path)) return await readSecretFile(path, setting)
  // The file is written under another name and then linked into place. Readers never see a partial token, and
  // concurrent starts use the same token.
  const draft = `${path}.${randomToken().slice(0, 8)}`
  const token = randomToken()
  await writeFile(draft, `${token}\n`, { mode: 0o600, flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    throw new Error(
      `${setting}: cannot write to the folder of ${path} (${error.code}). Make the folder writable.`,
    )
  })
  try {
    await link(draft, path)
    return token
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return await readSecretFile(path, setting)
  } finally {
    await rm(draft, { force: true })
  }
}
