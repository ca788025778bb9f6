import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isErrno } from '../journal/segments/errno.ts'

/** Returns the bearer token of the internal API. Creates the file with mode 0600 when it is missing. */
export async function loadOrCreateToken(file: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  try {
    const token = randomBytes(32).toString('base64url')
    await writeFile(file, `${token}\n`, { mode: 0o600, flag: 'wx' })
    return token
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
  await chmod(file, 0o600)
  return readToken(file, 'INTERNAL_TOKEN_FILE')
}

/**
 * Returns the token in a file. Throws an error with the name of the environment variable when the file is missing or
 * empty.
 */
export async function readToken(file: string, variable: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Error(`${variable}: ${file} cannot be read. Set it to a file that contains the token.`, {
      cause,
    })
  })
  const token = text.trim()
  if (token === '') throw new Error(`${variable}: ${file} is empty. Write the token to the file.`)
  return token
}
