import * as z from 'zod'
import { isConfidential } from '../../loopback.ts'
import { described } from '../described.ts'
import { dns1123 } from '../fields.ts'
import { GithubAppSpec } from './github-app-spec.ts'
import {
  EnvSourceSpec,
  ExecSourceSpec,
  FileSourceSpec,
  type LocalSourceRules,
  localSourceProblem,
} from './local-source-spec.ts'
import { OAuth2Spec } from './oauth2-spec.ts'

export const CredentialSpec = z.strictObject({
  secretRef: described(
    z
      .strictObject({
        name: described(dns1123, 'Name of the Secret.', 'codehost'),
        key: described(
          z
            .string()
            .min(1)
            .max(253)
            .regex(/^[-._a-zA-Z0-9]+$/, 'must have letters, digits, -, _ and . only')
            .default('token'),
          'Key of the Secret that has the credential.',
          'token',
        ),
      })
      .optional(),
    'Secret in the namespace of the Connector.',
    { name: 'codehost' },
  ),
  vault: described(
    dns1123.optional(),
    'Name of a credential in the encrypted store of the control plane. `chaperone credential set NAME` and the Connectors page store the credential. Only for an installation on one machine; in a cluster, use `secretRef`.',
    'codehost',
  ),
  env: described(
    EnvSourceSpec.optional(),
    'Environment variable of the control plane. Only for an installation on one machine.',
    { name: 'CODEHOST_TOKEN' },
  ),
  file: described(
    FileSourceSpec.optional(),
    'File that the control plane reads. In a cluster, the file must be below a directory that the installation lists.',
    { path: '/run/secrets/codehost.token' },
  ),
  exec: described(
    ExecSourceSpec.optional(),
    'Command that prints the credential: a token, or an ExecCredential of `client.authentication.k8s.io/v1`. Only for an installation on one machine.',
    { command: 'gh', args: ['auth', 'token'] },
  ),
  oauth2: described(
    OAuth2Spec.optional(),
    'Minting of access tokens with the stored secret. Gateways receive the access token and its expiry, never the stored secret.',
    { tokenUrl: 'https://login.example.com/oauth2/token', clientId: 'chaperone' },
  ),
  githubApp: described(
    GithubAppSpec.optional(),
    'Minting of installation access tokens with the stored private key of a GitHub App. Gateways never receive the key.',
    { appId: 'Iv23liAcmeChaperone', installationId: 4_815_162 },
  ),
})

type Sources = {
  readonly secretRef?: unknown
  readonly vault?: string | undefined
  readonly env?: { readonly name: string } | undefined
  readonly file?: { readonly path: string } | undefined
  readonly exec?: { readonly command: string } | undefined
}

/** Fields that state the source of a credential. Exactly one of them must be set. */
export const SOURCE_FIELDS = ['secretRef', 'vault', 'env', 'file', 'exec'] as const

/** Reports whether the credential of a Connector has exactly one source. */
export function hasOneSource(credential: Sources): boolean {
  return SOURCE_FIELDS.filter((field) => credential[field] !== undefined).length === 1
}

export const ONE_SOURCE = 'must have exactly one of secretRef, vault, env, file and exec'

type Origin = {
  readonly source: string
  readonly namespace: string
  readonly type: string
  readonly rules: LocalSourceRules
}

/**
 * Returns the reason why a manifest must not have this credential; null if the manifest may have it. Only manifests of
 * a folder may name a credential of the encrypted store. In a cluster, the author of an object could otherwise use a
 * credential that they cannot read.
 */
export function sourceProblem(
  credential: (Sources & Exchanged) | undefined,
  { source, namespace, type, rules }: Origin,
): string | null {
  if (credential === undefined) return null
  if (!hasOneSource(credential)) return `spec.credential: ${ONE_SOURCE}`
  if (!hasOneExchange(credential)) return `spec.credential: ${ONE_EXCHANGE}`
  if (type === 'chat' && isMinted(credential)) return `spec.credential: ${NOT_IN_CHAT}`
  return (
    exchangeProblem(credential, source) ??
    localSourceProblem(credential, { source, namespace, rules }) ??
    storedProblem(credential, source)
  )
}

function storedProblem(credential: Sources & Exchanged, source: string): string | null {
  if (credential.oauth2?.grant === 'refresh_token' && hasLocalSource(credential))
    return `spec.credential.oauth2.grant: ${NOT_REPLACED}`
  if (credential.vault === undefined || source === 'file') return null
  return 'spec.credential.vault: works only in an installation on one machine, not in a cluster; in a cluster, create a Secret and name it in secretRef'
}

/**
 * Error for a minted credential of type `chat`. Approvers answer in the chat, so an agent must not have the token of
 * the bot that shows approvals. Only a stored token can be compared with the token of the bot.
 */
export const NOT_IN_CHAT =
  'must be a stored token for type chat, without oauth2 and githubApp; name the token in secretRef or vault'

const NOT_REPLACED =
  'refresh_token needs a stored secret, because the server replaces the token; name it in secretRef or vault'

export const ONE_EXCHANGE = 'must have at most one of oauth2 and githubApp'

type Exchanged = {
  readonly oauth2?: { readonly tokenUrl: string; readonly grant?: string } | undefined
  readonly githubApp?: { readonly apiUrl: string } | undefined
}

/** Reports whether the credential names at most one way of minting a token from the stored secret. */
export function hasOneExchange({
  oauth2,
  githubApp,
}: {
  readonly oauth2?: unknown
  readonly githubApp?: unknown
}): boolean {
  return oauth2 === undefined || githubApp === undefined
}

/** Returns the reason why the stored secret must not be sent to the URL that issues tokens; null if it may be sent. */
function exchangeProblem({ oauth2, githubApp }: Exchanged, source: string): string | null {
  const field = oauth2 === undefined ? 'githubApp.apiUrl' : 'oauth2.tokenUrl'
  const url = oauth2?.tokenUrl ?? githubApp?.apiUrl
  if (url === undefined) return null
  const { protocol, username, password } = new URL(url)
  if (username !== '' || password !== '')
    return `spec.credential.${field}: contains a user name or a password; remove it, and store the secret`
  const isProtected = source === 'file' ? isConfidential(url) : protocol === 'https:'
  return isProtected
    ? null
    : `spec.credential.${field}: is plain http, so a secret would cross the network in clear text; use https`
}

/** Fields of a credential that make the control plane obtain or read the secret that it sends to gateways. */
export const MINTING_FIELDS = ['oauth2', 'githubApp', 'env', 'file', 'exec'] as const

type Minting = { readonly [field in (typeof MINTING_FIELDS)[number]]?: unknown }

/**
 * Reports whether the control plane sends minted secrets to gateways: tokens that it obtains with a stored secret, or
 * secrets that it reads from a variable, a file or a command.
 */
export function isMinted(credential: Minting | undefined): boolean {
  return MINTING_FIELDS.some((field) => credential?.[field] !== undefined)
}

/**
 * Value in place of a stored secret, for a Connector whose secret the control plane reads from a variable, a file or a
 * command. The empty text marks that the Connector has a credential, and is never sent.
 */
export const NOTHING_STORED = ''

/**
 * Reports whether the control plane reads the secret from a variable, a file or a command. Also accepts a credential
 * that no schema has validated.
 */
export function hasLocalSource(
  credential: { readonly env?: unknown; readonly file?: unknown; readonly exec?: unknown } | undefined,
): boolean {
  const { env, file, exec } = credential ?? {}
  return [env, file, exec].some((source) => source !== undefined)
}

type NamedCredential = z.infer<typeof CredentialSpec>

/**
 * Returns the warning that the Secret does not have the key that `secretRef` names; null for a credential without
 * `secretRef`.
 */
export function missingCredential(credential: NamedCredential | undefined, namespace: string): string | null {
  const ref = credential?.secretRef
  if (ref === undefined) return null
  return `the Secret ${namespace}/${ref.name} has no key ${ref.key}, so requests are refused because there is no credential to send; add the key`
}
