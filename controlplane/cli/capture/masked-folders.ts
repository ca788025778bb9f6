import { ChaperoneError } from '../../../core/errors.ts'
import { installationFolders } from '../client/installation-key.ts'
import { dataFolder, readRunFile } from '../state/data-folder.ts'
import { manifestFolders } from '../state/manifest-folders.ts'
import { stateHome } from '../state/state-home.ts'
import { trustedFolders } from '../state/trusted-folders.ts'
import { stateEnvironments } from './starting-captures.ts'

/**
 * Returns the state folders of the user, and the data folders and manifests folders of all installations that the state
 * folders list. Creates missing state folders, because a folder that is created later, for example by a sign-in, would
 * not be masked.
 */
export function maskedFolders(env: NodeJS.ProcessEnv): readonly string[] {
  const [own, ...others] = stateEnvironments(env)
  return [...new Set([...foldersOf(own), ...others.flatMap(foldersOfOther)])]
}

function foldersOf(env: NodeJS.ProcessEnv): readonly string[] {
  const roots = [...trustedFolders(env), ...installationFolders(env)]
  // Earlier versions do not write the list. They record the manifests folder in the run file only.
  const running = roots.flatMap((root) => readRunFile(dataFolder(root))?.manifests ?? [])
  return [stateHome(env), ...roots, ...manifestFolders(env), ...running]
}

/**
 * Returns the folders to mask for the default state folder, which commands in a terminal without XDG_STATE_HOME use.
 * Returns an empty list when this folder cannot be created.
 */
function foldersOfOther(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    return foldersOf(env)
  } catch (error) {
    if (error instanceof ChaperoneError) return []
    throw error
  }
}
