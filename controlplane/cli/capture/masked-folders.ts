import { userInfo } from 'node:os'
import { ChaperoneError } from '../../../core/errors.ts'
import { installationFolders } from '../client/installation-key.ts'
import { stateHome } from '../state/state-home.ts'
import { trustedFolders } from '../state/trusted-folders.ts'

/**
 * Returns the user's state folders and the data folders of every installation that they know. Creates the state folders:
 * one that is created later, by a sign-in for instance, could not be covered.
 */
export function maskedFolders(env: NodeJS.ProcessEnv): readonly string[] {
  const { HOME } = env
  const others = [{ HOME }, { HOME: userInfo().homedir }].flatMap(foldersOfOther)
  return [...new Set([...foldersOf(env), ...others])]
}

function foldersOf(env: NodeJS.ProcessEnv): readonly string[] {
  return [stateHome(env), ...trustedFolders(env), ...installationFolders(env)]
}

/** The state folder without XDG_STATE_HOME, which another terminal may use. One that this user cannot create holds nothing. */
function foldersOfOther(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    return foldersOf(env)
  } catch (error) {
    if (error instanceof ChaperoneError) return []
    throw error
  }
}
