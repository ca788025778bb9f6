import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import {
  CLIENT_ID,
  CLIENT_SECRET,
  type IdentityProvider,
  startIdentityProvider,
} from './identity-provider.ts'
import {
  exchange,
  fragmentOf,
  isCallback,
  openVisitor,
  type SignedIn,
  startSignIn,
  type Visitor,
} from './visitor.ts'

export const CONFIG_REQUIRED = { DATABASE_URL: 'postgres://u:p@h/db', MASTER_KEY: 'ab'.repeat(32) }
export const GROUPS = {
  'platform-admins': { role: 'admin', approverGroups: ['sre', 'security'] },
  'team-a': { role: 'member', approverGroups: ['team-a'], namespaces: ['team-a', 'team-a-staging'] },
  'team-b': { role: 'member', namespaces: ['team-b'] },
  'team-b-leads': { role: 'admin', namespaces: ['team-b'] },
  auditors: { role: 'viewer' },
  oncall: { approverGroups: ['oncall'] },
  responders: { role: 'member', approverGroups: ['responders'] },
}

export type OidcStage = AsyncDisposable & {
  readonly here: TestInstallation
  readonly idp: IdentityProvider
  /** The address that the browser ends at, signed in as this account of the provider. */
  walk(subject: string, visitor?: Visitor): Promise<{ readonly end: string; readonly secret: string }>
  /** A page signed in as this account. */
  signIn(subject: string): Promise<SignedIn>
  /** As if the last confirmation of every user were five minutes old. */
  fiveMinutesLater(): Promise<void>
}

/** A control plane and a real identity provider with one account for each kind of group. */
export async function startOidcStage(env: Record<string, string> = {}): Promise<OidcStage> {
  const folder = await mkdtemp(join(tmpdir(), 'chaperone-oidc-'))
  await writeFile(join(folder, 'client.secret'), `${CLIENT_SECRET}\n`)
  const idp = await startIdentityProvider()
  const here = await startTestInstallation({
    APPROVALS: 'session',
    OIDC_ISSUER: idp.issuer,
    OIDC_CLIENT_ID: CLIENT_ID,
    OIDC_CLIENT_SECRET_FILE: join(folder, 'client.secret'),
    OIDC_SCOPES: 'openid profile email groups',
    OIDC_GROUPS: JSON.stringify(GROUPS),
    OIDC_NAME: 'Example SSO',
    REGISTRATION: 'invite',
    ...env,
  })
  idp.serve(`${here.plane.url}/api/auth/oidc/callback`)
  const account = (name: string, groups: readonly string[]) =>
    idp.accounts.set(name, { sub: name, email: `${name}@example.com`, email_verified: true, name, groups })
  account('ada', ['platform-admins', 'unknown'])
  account('bea', ['team-a', 'oncall'])
  account('cleo', ['auditors', 'team-b-leads', 'team-b'])
  account('dan', ['nothing-here'])
  account('lea', ['responders', 'team-b-leads'])
  const { plane } = here

  async function walk(subject: string, visitor = openVisitor()) {
    idp.signIn = subject
    const { secret, url } = await startSignIn(plane.call)
    const callback = await visitor.follow(url, isCallback)
    return { end: (await visitor.get(callback)).location ?? '', secret }
  }
  return {
    here,
    idp,
    walk,
    async signIn(subject) {
      const { end, secret } = await walk(subject)
      const { code, error } = fragmentOf(end)
      if (code === null) throw new Error(`${subject} was not signed in: ${error} ${plane.log().slice(-600)}`)
      return exchange(plane.url, plane.call, { code, secret })
    },
    fiveMinutesLater: async () => {
      await here.sql("update user_identities set checked_at = checked_at - interval '5 minutes'")
    },
    async [Symbol.asyncDispose]() {
      await here[Symbol.asyncDispose]()
      await idp[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
