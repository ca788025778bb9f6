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

/** A token that is narrowed to the need of a request. */
export type Narrowed = {
  readonly secret: string
  readonly lifetimeMs: number
  readonly scope: readonly string[]
}

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
 * Minimum time in milliseconds between two public tokens of an installation, for the same reason. A public token can
 * read public content, and the metadata of all repositories of the Connector. For a request that also reads data which
 * its actions do not name (a GraphQL mutation), it can read all that the Connector can read. It can change nothing.
 */
const KEEP_PUBLIC_MS = 10_000
type PublicToken = { readonly token: Narrowed; readonly issuedAtMs: number }
/** A token, or the reason why none was issued. */
type Issued = Narrowed | NotIssued
type NotIssued = {
  /** The refusal of the API; null when no repository of the request belongs to the Connector. */
  readonly refused: { readonly error: MintError; readonly limit: TokenLimit } | null
}

/**
 * Creates the source of narrowed installation tokens. Each token has those repositories and permissions that the
 * request needs and that both the Connector and the installation of the GitHub App have. The token leaves out other
 * repositories of the request, because no token of the installation can read more than their public content. If no
 * repository is left, or the installation lacks the only one and the request changes nothing, the token is a public token
 * (see `KEEP_PUBLIC_MS`).
 *
 * @param fetchOf Returns a `fetch` that checks addresses. The address rules depend on the origin of the Connector: the
 * cluster or a file.
 */
export function createGithubAppNarrowMint(
  fetchOf: (source: MintRequest['source']) => CheckedFetch,
  { nowMs, monotonicMs }: { readonly nowMs: () => number; readonly monotonicMs: () => number },
): NarrowMint {
  const kept = new Map<string, Kept>()
  const publicTokens = new Map<string, PublicToken>()

  async function readInstallation(call: AppCall, key: string): Promise<Installation> {
    const answer = await call.send('GET', '')
    const installation = Installation.safeParse(answer.body)
    if (answer.status !== 200 || !installation.success) throw call.refusal(answer, 'showed no installation')
    if (kept.size >= MAX_INSTALLATIONS) kept.clear()
    kept.set(key, { installation: installation.data, readAtMs: monotonicMs() })
    return installation.data
  }

  async function issue({ call, app, need }: Issuing, installation: Installation): Promise<Issued> {
    const limit = narrowedLimit(app, installation, need)
    if (limit === null) return { refused: null }
    const issued = readIssued(await call.send('POST', '/access_tokens', limit), nowMs)
    if ('secret' in issued) return { ...issued, scope: scopeOf(installation, limit) }
    const error = call.refusal(issued, 'issued no token for these repositories')
    if (issued.status !== LACKS) throw error
    return { refused: { error, limit } }
  }

  /**
   * Issues a token within the cached account and permissions of the installation of the GitHub App. If no token is
   * issued, reads the installation again, and retries if the installation has changed. If the API was not called for
   * the token, the installation is read at most once per `REREAD_MS`.
   */
  async function issueByKept(issuing: Issuing, { installation, readAtMs }: Kept): Promise<Issued> {
    const issued = await issue(issuing, installation)
    if ('secret' in issued) return issued
    if (issued.refused === null && monotonicMs() - readAtMs < REREAD_MS) return issued
    // The owner of the installation may have renamed the account or withdrawn a permission.
    const present = await readInstallation(issuing.call, issuing.key)
    return isDeepStrictEqual(present, installation) ? issued : issue(issuing, present)
  }

  /** Issues a public token, at most once per `KEEP_PUBLIC_MS`. */
  async function issuePublic({ call, app, need, key }: Issuing): Promise<Narrowed> {
    const publicKey = JSON.stringify([key, need.readsMore])
    const known = publicTokens.get(publicKey)
    const ageMs = monotonicMs() - (known?.issuedAtMs ?? 0)
    if (known !== undefined && ageMs < KEEP_PUBLIC_MS)
      return { ...known.token, lifetimeMs: known.token.lifetimeMs - ageMs }
    const installation = kept.get(key)?.installation ?? (await readInstallation(call, key))
    const limit = publicLimit(app, installation, need)
    const issued = readIssued(await call.send('POST', '/access_tokens', limit), nowMs)
    if (!('secret' in issued)) throw call.refusal(issued, 'issued no token for public content')
    // The owner may add the repository to the installation, so the lifetime of the token is that of the cache at most.
    const lifetimeMs = Math.min(issued.lifetimeMs, KEEP_MS)
    const token = { ...issued, lifetimeMs, scope: scopeOf(installation, limit) }
    if (publicTokens.size >= MAX_INSTALLATIONS) publicTokens.clear()
    publicTokens.set(publicKey, { token, issuedAtMs: monotonicMs() })
    return token
  }

  return async ({ credential: { githubApp: app }, secret, source, need, sourceHash: key }) => {
    if (app === undefined)
      throw new MintError(
        'The Connector has no field credential.githubApp, so no token was requested. Add the field to its manifest.',
      )
    const call = await createAppCall({ githubApp: app, secret, send: fetchOf(source), nowMs })
    const issuing = { call, app, need, key }
    const known = kept.get(key)
    const issued =
      known !== undefined && monotonicMs() - known.readAtMs < KEEP_MS
        ? await issueByKept(issuing, known)
        : await issue(issuing, await readInstallation(call, key))
    if ('secret' in issued) return issued
    if (issued.refused === null) return issuePublic(issuing)
    // The repository may be public.
    const missing = await missingRepository(issuing, issued.refused)
    const token = await issuePublic(issuing)
    return { ...token, scope: [...token.scope, `not in the installation: ${missing}`] }
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
 * have. Returns null if no repository of the request belongs to the Connector.
 */
function narrowedLimit(app: GithubAppSpec, installation: Installation, need: TokenNeed): TokenLimit | null {
  const { repositories, permissions } = need
  const own = limitOf(app)
  const needed = Object.fromEntries(permissions.map((one) => one.split(':') as [string, string]))
  const granted = lower(needed, availableTo(app, installation))
  const limit = { permissions: { ...readAccess(app, installation, need), ...granted, metadata: 'read' } }
  if (repositories === null) return { ...own, ...limit }
  const account = installation.account.login.toLowerCase()
  const names = repositories.flatMap((repository) => {
    const [owner, name = ''] = repository.split('/')
    const isListed = own.repositories?.some((one) => one.toLowerCase() === name) ?? true
    return owner === account && isListed ? [name] : []
  })
  return names.length === 0 ? null : { repositories: names, ...limit }
}

/**
 * Returns the only repository of a request that reads a repository of the account which the installation lacks. Throws
 * a `MintError` for a change in such a repository, and when the API refused the token for another reason.
 */
async function missingRepository(
  { call, need }: Issuing,
  { error, limit }: NonNullable<NotIssued['refused']>,
): Promise<string> {
  const [repository, ...others] = need.repositories ?? []
  // Of several repositories, some may belong to the installation, so that the request needs more than public content.
  if (repository === undefined || others.length > 0 || !(await lacksRepository(call, limit))) throw error
  if (need.permissions.every((permission) => permission.endsWith(':read'))) return repository
  throw new MintError(
    `The installation of the GitHub App has no repository ${repository}, so no token was issued for a change in it. If the repository was renamed, send the request with its present name; otherwise add the repository to the installation of the app.`,
  )
}

/**
 * Reports whether the API refused the token because the installation lacks the repository, and not because it lacks a
 * permission: every installation has the permission to read metadata.
 */
async function lacksRepository(
  call: AppCall,
  { repositories = [], permissions = {} }: TokenLimit,
): Promise<boolean> {
  if (Object.entries(permissions).every(([name, access]) => name === 'metadata' && access === 'read'))
    return true
  const answer = await call.send('POST', '/access_tokens', {
    repositories,
    permissions: { metadata: 'read' },
  })
  return answer.status === LACKS
}

/**
 * Returns the restriction of a public token: no permission but that to read metadata, or the read access of the
 * Connector for a request that also reads data which its actions do not name.
 */
function publicLimit(app: GithubAppSpec, installation: Installation, need: TokenNeed): TokenLimit {
  return { ...limitOf(app), permissions: { ...readAccess(app, installation, need), metadata: 'read' } }
}

/** Returns the permissions that both the Connector and the installation have. */
function availableTo(app: GithubAppSpec, { permissions }: Installation): Readonly<Record<string, string>> {
  const own = limitOf(app)
  return own.permissions === undefined ? permissions : lower(own.permissions, permissions)
}

/**
 * Returns read access to everything that the Connector and the installation may read, if the request also reads data
 * that its actions do not name; otherwise no permission.
 */
function readAccess(
  app: GithubAppSpec,
  installation: Installation,
  { readsMore }: TokenNeed,
): Readonly<Record<string, string>> {
  if (!readsMore) return {}
  return Object.fromEntries(Object.keys(availableTo(app, installation)).map((name) => [name, 'read']))
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
