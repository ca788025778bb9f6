import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import type { TokenNeed } from '../../../../../core/connectors/credentials/token-need.ts'
import type { GithubAppSpec } from '../../../../../core/crd/credentials/github-app-spec.ts'
import type { CheckedFetch } from '../../../oidc/checked-fetch.ts'
import { type AppCall, createAppCall, limitOf, readIssued, type TokenLimit } from '../github-app.ts'
import { MintError, type MintRequest } from '../mint.ts'

/** Account and permissions of an installation of the GitHub App. */
const Installation = z.object({
  account: z.object({ login: z.string() }),
  permissions: z.record(z.string(), z.string()),
})
type Installation = z.infer<typeof Installation>

export type NarrowRequest = Omit<MintRequest, 'rotated'> & {
  readonly need: TokenNeed
  /** Hash that identifies the specification and the stored credential. */
  readonly sourceHash: string
}

/**
 * A token that is narrowed to the need of a request. `whole`: sentence that says why no such token was issued; the
 * request is then sent with the token of the Connector.
 */
export type Narrowed =
  | { readonly secret: string; readonly lifetimeMs: number; readonly scope: readonly string[] }
  | { readonly whole: string }

/** Mints a token that is narrowed to the need of a request. Rejects with a `MintError`. */
export type NarrowMint = (request: NarrowRequest) => Promise<Narrowed>

/**
 * Milliseconds for which the account and permissions of an installation of the GitHub App are cached. Both rarely
 * change.
 */
const KEEP_MS = 300_000
/**
 * Minimum time in milliseconds between two reads of an installation of the GitHub App that are caused by requests for
 * repositories outside the installation. The limit is necessary because agents choose the repositories.
 */
const REREAD_MS = 10_000
const MAX_INSTALLATIONS = 1_000
/** HTTP status with which the API refuses repositories or permissions that the installation of the GitHub App lacks. */
const LACKS = 422

type Kept = { readonly installation: Installation; readonly readAtMs: number }
/**
 * A token; otherwise the reason why no token was issued. `isRefused`: true when the API refused the token, false when
 * the API was not called.
 */
type Issued = Exclude<Narrowed, { whole: string }> | { readonly whole: string; readonly isRefused: boolean }

/**
 * Creates the source of narrowed installation tokens. Each token has those repositories and permissions that the
 * request needs and that both the Connector and the installation of the GitHub App have.
 *
 * @param fetchOf Returns a `fetch` that checks addresses. The address rules depend on the origin of the Connector: the
 * cluster or a file.
 */
export function createGithubAppNarrowMint(
  fetchOf: (source: MintRequest['source']) => CheckedFetch,
  { nowMs, monotonicMs }: { readonly nowMs: () => number; readonly monotonicMs: () => number },
): NarrowMint {
  const kept = new Map<string, Kept>()

  async function readInstallation(call: AppCall, key: string): Promise<Installation> {
    const answer = await call.send('GET', '')
    const installation = Installation.safeParse(answer.body)
    if (answer.status !== 200 || !installation.success) throw call.refusal(answer, 'showed no installation')
    if (kept.size >= MAX_INSTALLATIONS) kept.clear()
    kept.set(key, { installation: installation.data, readAtMs: monotonicMs() })
    return installation.data
  }

  async function issue(
    { call, app, need }: Omit<Issuing, 'key'>,
    installation: Installation,
  ): Promise<Issued> {
    const limit = narrowedLimit(app, installation, need)
    if (typeof limit === 'string') return { whole: limit, isRefused: false }
    const issued = readIssued(await call.send('POST', '/access_tokens', limit), nowMs)
    if ('secret' in issued) return { ...issued, scope: scopeOf(installation, limit) }
    if (issued.status !== LACKS) throw call.refusal(issued, 'issued no installation token')
    return {
      whole: call.refusal(issued, 'issued no token for these repositories').message,
      isRefused: true,
    }
  }

  /**
   * Issues a token within the cached account and permissions of the installation of the GitHub App. If no token is
   * issued, reads the installation again, and retries if the installation has changed. If the API was not called for
   * the token, the installation is read at most once per `REREAD_MS`.
   */
  async function issueByKept(
    { call, app, need, key }: Issuing,
    { installation, readAtMs }: Kept,
  ): Promise<Issued> {
    const issued = await issue({ call, app, need }, installation)
    if ('secret' in issued) return issued
    if (!issued.isRefused && monotonicMs() - readAtMs < REREAD_MS) return issued
    // The owner of the installation may have renamed the account or withdrawn a permission. Without this read, requests
    // would be sent with the token of the Connector, which has more permissions.
    const present = await readInstallation(call, key)
    return isDeepStrictEqual(present, installation) ? issued : issue({ call, app, need }, present)
  }

  return async ({ credential: { githubApp: app }, secret, source, need, sourceHash: key }) => {
    if (app === undefined)
      throw new MintError(
        'The Connector has no field credential.githubApp, so no token was requested. Add the field to its manifest.',
      )
    const call = await createAppCall({ githubApp: app, secret, send: fetchOf(source), nowMs })
    const known = kept.get(key)
    const issued =
      known !== undefined && monotonicMs() - known.readAtMs < KEEP_MS
        ? await issueByKept({ call, app, need, key }, known)
        : await issue({ call, app, need }, await readInstallation(call, key))
    return 'whole' in issued ? { whole: issued.whole } : issued
  }
}

type Issuing = {
  readonly call: AppCall
  readonly app: GithubAppSpec
  readonly need: TokenNeed
  /** Key that identifies the specification and the stored credential. */
  readonly key: string
}

/**
 * Returns those repositories and permissions that the request needs and that both the Connector and the installation
 * have. Returns a sentence if a repository does not belong to the Connector; the request is then sent with the token
 * of the Connector, which gives access only to public content of this repository.
 */
function narrowedLimit(
  app: GithubAppSpec,
  { account, permissions: installed }: Installation,
  { repositories, permissions, readsMore }: TokenNeed,
): TokenLimit | string {
  const own = limitOf(app)
  const available = own.permissions === undefined ? installed : lower(own.permissions, installed)
  const needed = Object.fromEntries(permissions.map((one) => one.split(':') as [string, string]))
  const reads = readsMore ? Object.fromEntries(Object.keys(available).map((name) => [name, 'read'])) : {}
  const limit = { permissions: { ...reads, ...lower(needed, available), metadata: 'read' } }
  if (repositories === null) return { ...own, ...limit }
  const names: string[] = []
  for (const repository of repositories) {
    const [owner = '', name = ''] = repository.split('/')
    const isOwn = owner === account.login.toLowerCase()
    const isListed = own.repositories?.some((one) => one.toLowerCase() === name) ?? true
    if (!isOwn || !isListed)
      return `${repository} is not a repository of the Connector, so the request is sent with the token of the Connector, which reads only public content there.`
    names.push(name)
  }
  return { repositories: names, ...limit }
}

const ACCESS = ['read', 'write', 'admin']

/** Returns the permissions that both lists contain, each with the lower of the two access levels. */
function lower(
  a: Readonly<Record<string, string>>,
  b: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(a).flatMap(([name, access]) => {
      const other = b[name]
      if (other === undefined) return []
      return [[name, ACCESS.indexOf(access) < ACCESS.indexOf(other) ? access : other]]
    }),
  )
}

function scopeOf({ account }: Installation, { repositories = [], permissions = {} }: TokenLimit): string[] {
  return [
    ...repositories.map((name) => `${account.login}/${name}`),
    ...Object.entries(permissions).map(([name, access]) => `${name}:${access}`),
  ].sort()
}
