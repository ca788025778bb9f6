import type { Action, Parameters } from '../action/action.ts'
import type { CanonicalRequest } from '../request/canonical.ts'
import { withAgentsById } from './codehost/agent-ids.ts'
import { withCommitOrigin } from './codehost/commit-origin.ts'
import { DEPRECATED } from './codehost/deprecated.ts'
import { GIT } from './codehost/git.ts'
import { GRAPHQL_CATALOGUE, GRAPHQL_KEYS, nameGraphql } from './codehost/graphql/request.ts'
import { withLabelList } from './codehost/label-list.ts'
import { CODEHOST_LOOK_UPS } from './codehost/look-ups.ts'
import { CODEHOST_NAMES } from './codehost/names.ts'
import { NUMERIC_IDS } from './codehost/numeric-ids.ts'
import { ACCOUNT } from './codehost/organization/account.ts'
import { APPS } from './codehost/organization/apps.ts'
import { CODESPACES } from './codehost/organization/codespaces.ts'
import { ASSISTANTS } from './codehost/organization/copilot.ts'
import { ENTERPRISE } from './codehost/organization/enterprise.ts'
import { MIGRATIONS } from './codehost/organization/migrations.ts'
import { ORG_ACTIONS } from './codehost/organization/org-actions.ts'
import { ORG_SECRETS } from './codehost/organization/org-secrets.ts'
import { ORGANIZATION } from './codehost/organization/organization.ts'
import { USERS } from './codehost/organization/users.ts'
import { CODEHOST_PINS } from './codehost/pins.ts'
import { withPullRequests } from './codehost/pull-request-number.ts'
import { namePush, PUSH, pushReader, withPushes } from './codehost/push/actions.ts'
import { FORCE_PUSH } from './codehost/push/force-push.ts'
import { REFERENCE_ROWS, referenceKeys, withReferences } from './codehost/references.ts'
import { CONTENTS } from './codehost/repository/contents.ts'
import { DELIVERY } from './codehost/repository/delivery.ts'
import { GITHUB_ACTIONS } from './codehost/repository/github-actions.ts'
import { ISSUES } from './codehost/repository/issues.ts'
import { PACKAGES } from './codehost/repository/packages.ts'
import { PROJECTS } from './codehost/repository/projects.ts'
import { PROTECTION } from './codehost/repository/protection.ts'
import { PULLS } from './codehost/repository/pulls.ts'
import { REPO_ACTIONS } from './codehost/repository/repo-actions.ts'
import { REPO_MISC } from './codehost/repository/repo-misc.ts'
import { REPOS } from './codehost/repository/repos.ts'
import { SECURITY } from './codehost/repository/security.ts'
import { SERVICE } from './codehost/service.ts'
import type { AuthScheme, BodyView, Classification, Connector, ConnectorConfig } from './connector.ts'
import { injectAuth } from './credentials/credentials.ts'
import { CODEHOST_IDENTITY } from './credentials/identity-reads.ts'
import { baseOf, executeAddress, ownedDomains, stripPrefix } from './domains.ts'
import { executeByRows } from './execute/to-request.ts'
import { actionsBy } from './named-action.ts'
import { once } from './once.ts'
import { CODEHOST_ERROR } from './provider-error.ts'
import { lenientReadings, nearMiss } from './rows/near-miss.ts'
import { parseByRows, type RowClassifier, rowKeys, rowsAreOpaque } from './rows/row-connector.ts'
import { readRows } from './rows/row-table.ts'
import { compileRows } from './rows/row-trie.ts'

const restRows = once(() =>
  readRows('codehost', [
    PULLS,
    ISSUES,
    CONTENTS,
    REPOS,
    GITHUB_ACTIONS,
    USERS,
    ENTERPRISE,
    ASSISTANTS,
    ORG_SECRETS,
    ORG_ACTIONS,
    SECURITY,
    CODESPACES,
    PACKAGES,
    PROJECTS,
    MIGRATIONS,
    PROTECTION,
    DELIVERY,
    REPO_ACTIONS,
    APPS,
    ORGANIZATION,
    REPO_MISC,
    ACCOUNT,
    SERVICE,
    DEPRECATED,
  ]),
)
const gitRows = once(() => readRows('codehost', [GIT]))
const rest = once(() => compileRows(restRows(), NUMERIC_IDS))
const gitOverHttp = once(() => compileRows(gitRows()))

const DOMAINS = ['api.github.com', 'github.com', 'uploads.github.com']
const GIT_HOST = 'github.com'

const CLASSIFIER: RowClassifier = {
  connector: 'codehost',
  formats: new Set(['json']),
  surface(request, config) {
    const other = otherNameSurface(request, config)
    if (other !== null) return other
    // The public code host separates git (github.com) and REST (api.github.com) by host name. A self-hosted instance
    // serves both on one host name.
    if (request.host === GIT_HOST) return { tries: [gitOverHttp()], path: request }
    if (PUBLIC_API.has(request.host)) return { tries: [rest()], path: request }
    const base = baseOf(config)
    if (base === null || base.segments.length === 0 || base.host !== request.host) {
      const path = stripPrefix(request, USUAL_PREFIXES)
      return path === null ? { tries: [rest(), gitOverHttp()], path: request } : { tries: [rest()], path }
    }
    const path = stripPrefix(request, restPrefixes(base.segments))
    // Outside of the path prefixes of REST, a self-hosted instance serves git and web pages.
    if (path === null) return { tries: [gitOverHttp()], path: request }
    return { tries: [rest()], path }
  },
  below(config) {
    const base = baseOf(config)
    return { trie: rest(), prefixes: [...restPrefixes(base?.segments ?? []), ...USUAL_PREFIXES] }
  },
  resource: repositoryOf,
}

/**
 * Returns the REST rows for a request to a domain other than the host of the base URL, because the domain may be
 * another name of the same self-hosted server. Null if the base URL has no path, or the request's path is not below it.
 */
function otherNameSurface(
  request: CanonicalRequest,
  config: ConnectorConfig,
): ReturnType<RowClassifier['surface']> | null {
  const base = baseOf(config)
  if (base === null || base.host === request.host || base.segments.length === 0) return null
  const path = stripPrefix(request, restPrefixes(base.segments))
  return path === null ? null : { tries: [rest()], path }
}

const known = once(() => new Map(restRows().map((row) => [row.type, row])))

/**
 * Reports whether the path is the GraphQL endpoint: `/graphql`; on a self-hosted instance also `/api/graphql`,
 * `/api/v3/graphql`, and `graphql` below the path of the base URL.
 */
function isGraphql({ host, segments }: CanonicalRequest, config: ConnectorConfig): boolean {
  return isGraphqlPath(host, segments.join('/'), config)
}

function isGraphqlPath(host: string, path: string, config: ConnectorConfig): boolean {
  const base = baseOf(config)
  if (base === null && PUBLIC_API.has(host)) return path === 'graphql'
  if (base === null && host === GIT_HOST) return false
  const own = base?.segments.join('/') ?? ''
  return GRAPHQL_PATHS.has(path) || (own !== '' && path === `${own}/graphql`)
}

/** Reports whether a lenient server may read the path as the GraphQL endpoint, whose body selects the operations. */
function isNearGraphql({ host, rawPath, segments }: CanonicalRequest, config: ConnectorConfig): boolean {
  if (!rawPath.includes('%') && !/graphql/i.test(rawPath)) return false
  return lenientReadings(segments).some((reading) => isGraphqlPath(host, reading.join('/'), config))
}

const PUBLIC_API = new Set(['api.github.com', 'uploads.github.com'])

const GRAPHQL_PATHS: ReadonlySet<string> = new Set(['graphql', 'api/graphql', 'api/v3/graphql'])

/** Path prefixes of REST and uploads on a self-hosted instance, used where no base URL states a path. */
const USUAL_PREFIXES: readonly (readonly string[])[] = [
  ['api', 'v3'],
  ['api', 'uploads'],
]

/**
 * Returns the path prefixes of REST for the path of a base URL. `/api/v3` implies `/api/uploads`, the prefix of
 * uploads.
 */
function restPrefixes(base: readonly string[]): readonly (readonly string[])[] {
  return base.join('/') === 'api/v3' ? USUAL_PREFIXES : [base]
}

/** Returns the target `owner/repo` without the `.git` of clone URLs, or the organization if there is no repository. */
function repositoryOf(parameters: Parameters): { target?: string; account?: string } {
  const { owner, repo, org } = parameters
  if (typeof owner === 'string' && typeof repo === 'string') {
    return { account: owner, target: `${owner}/${repo.endsWith('.git') ? repo.slice(0, -4) : repo}` }
  }
  return typeof org === 'string' ? { account: org, target: org } : {}
}

const catalogue = once(() => [
  ...restRows(),
  ...gitRows(),
  FORCE_PUSH,
  ...REFERENCE_ROWS,
  ...GRAPHQL_CATALOGUE,
])

/**
 * Connector type of the code host (GitHub). It classifies REST requests, git over HTTP, and each root field of a
 * GraphQL request. A `baseUrl` with its path prefix selects a self-hosted instance.
 */
export const codehost: Connector<'codehost'> = {
  name: 'codehost',
  label: { title: 'GitHub (codehost)', credential: 'Personal access token' },
  providerError: CODEHOST_ERROR,
  names: CODEHOST_NAMES,
  // git before 2.44 hangs in one of ten pushes above http.postBuffer: libcurl reads past the end of an HTTP/2 upload
  // whose window is full, and git then waits for its own child process.
  prefersHttp1: true,
  domains: (config) => ownedDomains(config, DOMAINS),
  parseAction: (request, body, config) =>
    body?.kind === 'head'
      ? nameGitPush(request, body, config)
      : isGraphql(request, config)
        ? withCommitOrigin(withAgentsById(nameGraphql(request, body, { config, known: known() })))
        : isNearGraphql(request, config)
          ? nearMiss()
          : nameRest(request, body, config),
  decidingKeys: (request, config) =>
    isGraphql(request, config)
      ? GRAPHQL_KEYS
      : [...rowKeys(CLASSIFIER, request, config), ...referenceKeys(request)],
  hasOpaqueBody: (request, config) =>
    !isGraphql(request, config) && rowsAreOpaque(CLASSIFIER, request, config),
  readsMore: isGraphql,
  readsHead(request, config) {
    const push = isPush(request) ? pushOf(request, config) : undefined
    return push === undefined ? null : pushReader(push, config)
  },
  injectCredentials(edit, secret, auth, request) {
    injectAuth(edit, secret, isGitOverHttp(request) ? gitAuth(auth) : auth)
  },
  carriers: {
    headers: ['x-github-token', 'private-token'],
    query: ['client_id', 'client_secret'],
    documentedQuery: ['client_id', 'client_secret'],
    bodyFields: [],
  },
  defaultAuth: { type: 'token' },
  overridable: ['form', 'multipart'],
  lookUps: CODEHOST_LOOK_UPS,
  pins: CODEHOST_PINS,
  get catalogue() {
    return catalogue()
  },
  prepare() {
    rest()
    gitOverHttp()
    known()
  },
  identityRead: CODEHOST_IDENTITY,
  impliedActions: (action) => actionsBy(action, (named) => withFurther(named, { kind: 'absent' })),
  toRequest: (spec, config) =>
    executeByRows(restRows(), spec, { ...executeAddress(config, 'api.github.com'), format: 'json' }),
}

function nameRest(
  request: CanonicalRequest,
  body: BodyView | undefined,
  config: ConnectorConfig,
): Classification {
  const named = withLabelList(parseByRows(CLASSIFIER, request, body, config), body)
  return withFurther(withPushes(named, request, config), body)
}

/**
 * Adds further effects of an operation: the actions of a reference, the possible effect class of a commit that may come
 * from a fork, and the actions of the pull request whose number an issue may have.
 */
function withFurther(named: Classification, body: BodyView | undefined): Classification {
  return withPullRequests(withCommitOrigin(withReferences(named, body)), known())
}

/** True for the request that sends a push; false for the discovery request (`info/refs`) that precedes it. */
function isPush(request: CanonicalRequest): boolean {
  return request.method === 'POST' && request.segments.at(-1) === 'git-receive-pack' && isGitOverHttp(request)
}

function nameGitPush(
  request: CanonicalRequest,
  body: Extract<BodyView, { kind: 'head' }>,
  config: ConnectorConfig,
): Classification {
  const push = pushOf(request, config)
  return push === undefined
    ? parseByRows(CLASSIFIER, request, { kind: 'opaque' }, config)
    : namePush(body, push, config)
}

function pushOf(request: CanonicalRequest, config: ConnectorConfig): Action | undefined {
  const named = parseByRows(CLASSIFIER, request, { kind: 'opaque' }, config)
  return named.kind === 'actions' ? named.actions.find(({ type }) => type === PUSH) : undefined
}

/** Returns Basic authentication, which git over HTTP requires. An explicit `basic` or `none` stays unchanged. */
function gitAuth(auth: AuthScheme): AuthScheme {
  return auth.type === 'basic' || auth.type === 'none' ? auth : { type: 'basic', username: 'x-access-token' }
}

function isGitOverHttp({ segments, rawQuery }: CanonicalRequest): boolean {
  const last = segments.at(-1)
  if (segments.length === 3) return last === 'git-receive-pack' || last === 'git-upload-pack'
  return (
    segments.length === 4 && last === 'refs' && segments[2] === 'info' && rawQuery.includes('service=git-')
  )
}
