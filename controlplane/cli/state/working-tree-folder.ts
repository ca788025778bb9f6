import { lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'
import { shellQuote } from '../terminal/shell-quote.ts'
import { assertOwnedDataFolder, type DataFolder, dataFolder, FOLDER_NAME } from './data-folder.ts'
import { realFolderPath } from './folder-ownership.ts'
import { setTrustedFolders, trustedFolders } from './trusted-folders.ts'

/**
 * Returns the data folder of a working tree. Creates and trusts a missing folder. Throws `conflict` for an existing
 * folder that is not trusted, because the folder may come from the repository.
 */
export function workingTreeFolder({
  env,
  cwd,
}: {
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
}): DataFolder {
  const dir = join(cwd, FOLDER_NAME)
  const trusted = trustedFolders(env)
  if (lstatSync(dir, { throwIfNoEntry: false }) === undefined) {
    mkdirSync(dir, { mode: 0o755 })
    setTrustedFolders(env, [...trusted, realFolderPath(dir)])
  } else if (!trusted.includes(realFolderPath(dir))) {
    throw new ChaperoneError('conflict', {
      detail: `${dir} already exists and is not trusted. If the folder is yours: chaperone trust ${shellQuote(dir)}. Otherwise remove the folder.`,
    })
  }
  const folder = dataFolder(realFolderPath(dir))
  assertOwnedDataFolder(folder)
  return folder
}
