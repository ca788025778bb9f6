import { existsSync } from 'node:fs'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { randomToken } from './tokens.ts'

/** 32 bytes written as base64 or as 64 hexadecimal digits. `origin` names the setting in the error. */
export function parseMasterKey(text: string, origin: string): Buffer {
  const trimmed = text.trim()
  const key = /^[0-9a-fA-F]{64}$/.test(trimmed) ? Buffer.from(trimmed, 'hex') : Buffer.from(trimmed, 'base64')
  if (key.length === 32) return key
  throw new Error(
    `${origin} does not hold 32 bytes as base64 or hex. Bring back the key that the database was made with: what is stored cannot be read with another one. Only a new installation takes a new key, from \`openssl rand -base64 32\``,
  )
}

/** The trimmed text of a secret's file. The error names the setting and never the content. */
export async function readSecretFile(path: string, setting: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${setting}: cannot read ${path} (${error.code}): create the file or change the setting`)
  })
  if (text.trim() === '')
    throw new Error(`${setting}: ${path} is empty: write the secret into it or delete it`)
  return text.trim()
}

/** The same, after making the file (mode 0600, a random token) when there is none: its folder may be read-only when there is one. */
export async function readOrCreateToken(path: string, setting: string): Promise<string> {
  if (existsSync(path)) return await readSecretFile(path, setting)
  // Written aside and linked into place: a reader never sees half a token, and two starts agree on one.
  const draft = `${path}.${randomToken().slice(0, 8)}`
  const token = randomToken()
  await writeFile(draft, `${token}\n`, { mode: 0o600, flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${setting}: cannot write beside ${path} (${error.code}): make its folder writable`)
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
