import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'
import { writePrivate } from '../state/data-folder.ts'

/**
 * Replaces the content of the master key file. The function returns only when the file is on disk. Otherwise, a power
 * failure could destroy a key, and the secrets that this key encrypts could not be decrypted. Throws `conflict` when
 * the file has changed since it was read.
 */
export function replaceMasterKeyFile(
  file: string,
  { before, after }: { before: string; after: string },
): void {
  if (readFileSync(file, 'utf8') !== before)
    throw new ChaperoneError('conflict', {
      detail: `${file} was changed by another process. Run the command again.`,
    })
  removeUnfinished(file)
  writePrivate(file, after)
  const folder = openSync(dirname(file), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Removes unfinished copies that a killed process left beside the file, because the copies contain keys. */
function removeUnfinished(file: string): void {
  const folder = dirname(file)
  const isUnfinished = (name: string) => name.startsWith(`${basename(file)}.`) && name.endsWith('.new')
  for (const name of readdirSync(folder).filter(isUnfinished)) rmSync(join(folder, name), { force: true })
}
