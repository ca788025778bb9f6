import type * as z from 'zod'
import type { CredentialSpec } from '../../../../core/crd/credentials/credential-spec.ts'
import { localSourceProblem } from '../../../../core/crd/credentials/local-source-spec.ts'
import { namespaceOf } from '../../../../core/decision/kill-switch/kill-reach.ts'
import { CONFIG_VARIABLES } from '../../../config-variables.ts'
import { MintError, type MintRequest } from '../minting/mint.ts'
import { readExec } from './read-exec.ts'
import { readFileSource } from './read-file.ts'
import type { Environment, LocalSettings } from './settings.ts'

/** Secret that a source contains. `lifetimeMs`: null when the source states no expiry. */
export type LocalReading = { readonly secret: string; readonly lifetimeMs: number | null }

/**
 * Lifetime in milliseconds of a token whose command prints no expiry. OAuth access tokens without an expiry get the
 * same lifetime. The command runs again before this lifetime ends.
 */
const UNSTATED_LIFETIME_MS = 300_000

/**
 * Reads the secret from an environment variable, a file or a command. Returns null for a credential without such a
 * source. Rejects with a `MintError` for an unreadable source, and for a source that the installation does not allow.
 */
export async function readLocalSource(
  { credential, source, connector }: Pick<MintRequest, 'credential' | 'source' | 'connector'>,
  settings: LocalSettings,
): Promise<LocalReading | null> {
  const namespace = namespaceOf(connector)
  const refused = localSourceProblem(credential, { source, namespace, rules: settings })
  if (refused !== null) throw new MintError(`${refused}.`)
  return read(credential, { source, namespace, settings })
}

type Reading = Pick<MintRequest, 'source'> & {
  readonly namespace: string
  readonly settings: LocalSettings
}

async function read(
  { env, file, exec }: z.infer<typeof CredentialSpec>,
  { source, namespace, settings }: Reading,
): Promise<LocalReading | null> {
  const { environment, fileDirs } = settings
  if (env !== undefined) return readVariable(env.name, environment())
  if (file !== undefined)
    return readFileSource(file.path, source === 'file' ? null : { dirs: fileDirs, namespace })
  if (exec === undefined) return null
  const { secret, lifetimeMs } = await readExec(exec, environment(), Date.now)
  return { secret, lifetimeMs: lifetimeMs ?? UNSTATED_LIFETIME_MS }
}

function readVariable(name: string, environment: Environment): LocalReading {
  if (Object.hasOwn(CONFIG_VARIABLES, name))
    throw new MintError(
      `The environment variable ${name} is a setting of Chaperone and cannot be the credential of a Connector. Name another variable.`,
    )
  const secret = environment[name]?.trim() ?? ''
  if (secret !== '') return { secret, lifetimeMs: null }
  throw new MintError(
    `The environment variable ${name} is not set in the control plane. Set it, and start Chaperone again.`,
  )
}
