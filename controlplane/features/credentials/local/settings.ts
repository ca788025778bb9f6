import { isPlainPath, type LocalSourceRules } from '../../../../core/crd/credentials/local-source-spec.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Settings for credential sources on the machine of the control plane: environment variables, files and commands. */
export type LocalSettings = LocalSourceRules & {
  /** Returns the environment of the process, for `env` and for the commands of `exec`. */
  readonly environment: () => Environment
}

type Variable = 'LOCAL_CREDENTIALS' | 'CREDENTIAL_FILE_DIRS'

/**
 * Reads the settings from environment variables.
 *
 * @param text Returns the value of a variable; null when the variable is not set.
 */
export function readLocalSettings(text: (name: Variable) => string | null, env: Environment): LocalSettings {
  return { isAllowed: isAllowed(text), fileDirs: fileDirs(text), environment: () => env }
}

function isAllowed(text: (name: Variable) => string | null): boolean {
  const value = text('LOCAL_CREDENTIALS') ?? 'off'
  if (value === 'on' || value === 'off') return value === 'on'
  throw new Error(`LOCAL_CREDENTIALS is "${value}": set it to on or off`)
}

function fileDirs(text: (name: Variable) => string | null): readonly string[] {
  const given = (text('CREDENTIAL_FILE_DIRS') ?? '')
    .split(',')
    .map((dir) => dir.trim().replace(/\/+$/, ''))
    .filter((dir) => dir !== '')
  const wrong = given.find((dir) => !dir.startsWith('/') || !isPlainPath(dir))
  if (wrong === undefined) return given
  throw new Error(
    `CREDENTIAL_FILE_DIRS has "${wrong}": set it to absolute paths such as /mnt/credentials, separated by commas`,
  )
}
