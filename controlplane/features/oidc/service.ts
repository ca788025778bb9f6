import type { Logger } from 'pino'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Passwords } from '../../crypto/password.ts'
import { readSecretFile } from '../../crypto/secret-files.ts'
import type { Db } from '../../db/query.ts'
import { createEgressProxy, type EgressProxy, type EgressProxySettings } from '../../egress-proxy.ts'
import {
  type ConfirmAccess,
  type ConfirmUser,
  createConfirmAccess,
  createConfirmation,
} from './confirmation.ts'
import { createProvider } from './provider.ts'
import type { OidcSettings } from './settings.ts'
import { createSignInRequests, type SignInRequests } from './sign-in/requests.ts'
import { createProviderSignIn, type ProviderSignIn } from './sign-in/service.ts'
import { createProviderUsers } from './users.ts'

export type Oidc = {
  /** Label of the button on the sign-in page. */
  readonly name: string
  readonly signIn: ProviderSignIn
  readonly confirmUser: ConfirmUser
  readonly cookieName: SignInRequests['cookieName']
}

/** The enabled authentication modes, and the access check for signed-in users. */
export type SignIn = {
  /** Sign-in through the identity provider; null when only passwords are enabled. */
  readonly oidc: Oidc | null
  readonly isPasswordOn: boolean
  readonly confirmAccess: ConfirmAccess
}

type Deps = {
  readonly db: Db
  readonly orgId: string
  readonly log: Logger
  readonly keyring: Keyring
  readonly passwords: Passwords
}

/** Creates the sign-in of users. Rejects when the file with the client's secret cannot be read. */
export async function createSignIn({
  config: { oidc: settings, isPasswordOn, egressProxy },
  ...deps
}: Deps & {
  readonly config: {
    readonly oidc: OidcSettings | null
    readonly isPasswordOn: boolean
    readonly egressProxy?: EgressProxySettings
  }
}): Promise<SignIn> {
  const proxy = createEgressProxy(egressProxy)
  const oidc = settings === null ? null : await createOidc({ ...deps, settings, isPasswordOn, proxy })
  return { oidc, isPasswordOn, confirmAccess: createConfirmAccess(oidc?.confirmUser ?? null, isPasswordOn) }
}

async function createOidc({
  settings,
  proxy,
  ...deps
}: Deps & {
  readonly settings: OidcSettings
  readonly isPasswordOn: boolean
  readonly proxy: EgressProxy
}): Promise<Oidc> {
  const { clientSecretFile: file } = settings
  const secret = file === null ? null : await readSecretFile(file, 'OIDC_CLIENT_SECRET_FILE')
  const provider = createProvider(settings, secret, () => performance.now(), proxy)
  const users = createProviderUsers({ ...deps, settings })
  const requests = createSignInRequests(deps.keyring, () => Date.now())
  return {
    name: settings.name,
    signIn: createProviderSignIn({ ...deps, provider, requests, users }),
    confirmUser: createConfirmation({ ...deps, provider, users }),
    cookieName: requests.cookieName,
  }
}
