import type { FastifyRequest } from 'fastify'
import { ChaperoneError } from '../../../core/errors.ts'
import { isLoopback } from '../../../core/loopback.ts'
import { isRight, type Right } from '../../../core/wire/access/rights.ts'
import { matchesHash } from '../../crypto/tokens.ts'
import { refuseForeignOrigin } from '../origin.ts'
import type { Principal, Route, RouteAuth } from '../route.ts'
import { type CertificateSubject, certificateSubject } from './client-certificate.ts'
import { authenticateGateway, hasOurAudience, type IdentifyGateway } from './gateway-auth.ts'
import { type OwnerTokenDeps, ownerTokenRestriction } from './owner-token.ts'
import { pageSecretOf } from './page-secret.ts'
import { refuseRestricted, restrictionOf } from './restriction.ts'
import { requireRight } from './rights.ts'
import { sessionCookies } from './session-cookie.ts'

export type UserPrincipal = Extract<Principal, { kind: 'user' }>
export type AgentPrincipal = Extract<Principal, { kind: 'agent' }>

/**
 * Authenticates users of a Kubernetes cluster. Both methods reject with `not_ready` when the API server does not
 * answer. `isUrgent`: true to resolve within `URGENT_MS`. When the API server does not answer in this time, the
 * principal comes from a cache and has the restriction `unchecked`.
 */
export type ClusterCallers = {
  /** Authenticates a user by a bearer token. Returns undefined for an invalid token. */
  byToken(token: string, address: string, isUrgent?: boolean): Promise<UserPrincipal | undefined>
  /**
   * Authenticates a user by a verified certificate of a client CA of the cluster. Returns undefined for a certificate
   * of an agent.
   */
  byCertificate(subject: CertificateSubject, isUrgent?: boolean): Promise<UserPrincipal | undefined>
}

/**
 * Authenticates callers by a session, a key or a token. Each method resolves to undefined for an invalid credential and
 * for an inactive caller.
 */
export type Identify = {
  /**
   * Authenticates a user by the ids in all session cookies of a request. When several sessions are valid, the page
   * secret selects one of them.
   */
  session(
    ids: readonly string[],
    pageSecret: string | undefined,
    /**
     * True to resolve within `URGENT_MS`. When the database does not answer in this time, the principal comes from a
     * cache and has the restriction `unchecked`.
     */
    isUrgent: boolean,
    /** Client address of the request. */
    address?: string,
  ): Promise<UserPrincipal | undefined>
  /** Authenticates a user by an approver key. `address` is the client address of the request. */
  approverKey(key: string, address?: string): Promise<UserPrincipal | undefined>
  /**
   * Authenticates an agent and counts the request. Rejects with `rate_limited` when the agent exceeds its requests per
   * minute.
   */
  agentKey(key: string, isUrgent: boolean): Promise<AgentPrincipal | undefined>
  /** Authenticates users of the cluster. Null outside a cluster. */
  readonly clusterCallers?: ClusterCallers | null
  /**
   * Resolves to whether a TokenReview identifies the token as the token of the operator. The function is null outside
   * a cluster, and in a cluster without an operator.
   */
  readonly operatorToken?: ((token: string, address: string, isUrgent?: boolean) => Promise<boolean>) | null
} & IdentifyGateway

export type AuthDeps = {
  readonly identify: Identify
  readonly adminTokenHash: Buffer | null
  readonly operatorTokenHash: Buffer | null
  readonly maintenanceSecretHash: Buffer | null
  readonly publicUrl: string | null
} & OwnerTokenDeps

const ADMIN: UserPrincipal = {
  kind: 'user',
  userId: 'admin_token',
  email: 'admin-token',
  role: 'owner',
  groups: [],
  via: 'admin_token',
  namespaces: 'all',
}

type AuthOptions = Pick<Route, 'auth' | 'isNamespaced' | 'method' | 'admits' | 'givesAccess' | 'showsSecret'>

/** Authenticates and authorises the caller of a route. Rejects with `unauthorized` or `forbidden`. */
export async function authenticate(
  { auth, isNamespaced = false, method, admits = [], givesAccess = false, showsSecret = false }: AuthOptions,
  request: FastifyRequest,
  deps: AuthDeps,
): Promise<Principal> {
  const isUrgent = admits.includes('unchecked')
  const caller = await callerOf(auth, request, { ...deps, isUrgent, isNamespaced })
  const isToken = caller.kind === 'user' && caller.via === 'admin_token'
  const ofToken = isToken ? await ownerTokenRestriction(request, { givesAccess, isUrgent }, deps) : null
  const principal: Principal = isToken && ofToken !== null ? { ...caller, restriction: ofToken } : caller
  const restriction = restrictionOf(principal)
  const isRead = method === 'GET' && !showsSecret && restriction !== 'break_glass'
  const isAdmitted = isRead || (restriction !== null && admits.includes(restriction))
  if (!isAdmitted) refuseRestricted(principal)
  // For an urgent request, the authentication of an administrator is not recorded, because the activation of a kill
  // switch must not wait for the database.
  if (principal.kind === 'user' && !isUrgent) await deps.breakGlass?.noteAdmin(principal)
  return principal
}

type CallDeps = AuthDeps & { readonly isUrgent: boolean; readonly isNamespaced: boolean }

async function callerOf(auth: RouteAuth, request: FastifyRequest, deps: CallDeps): Promise<Principal> {
  if (isRight(auth)) return userWithRight(auth, request, deps)
  switch (auth) {
    case 'none':
      return { kind: 'anonymous' }
    case 'agent':
      return agent(request, deps)
    case 'gateway':
      return authenticateGateway(request, bearer(request), deps)
    case 'operator':
      return operator(request, deps)
    case 'maintenance':
      if (matchesHash(bearer(request) ?? '', deps.maintenanceSecretHash)) return { kind: 'maintenance' }
      throw unauthorized('the maintenance secret (`Authorization: Bearer $MAINTENANCE_SECRET`)')
    case 'agent_or_admin':
      return isAgentKey(bearer(request))
        ? agent(request, deps)
        : userWithRight('killswitches/lift', request, deps)
    case 'session':
      return ownUser(request, deps)
  }
}

async function userWithRight(right: Right, request: FastifyRequest, deps: CallDeps): Promise<UserPrincipal> {
  const found = right === 'approvals/answer' ? await approver(request, deps) : await user(request, deps)
  return requireRight(found, right, deps.isNamespaced)
}

async function operator(
  request: FastifyRequest,
  { operatorTokenHash, identify, isUrgent }: CallDeps,
): Promise<Principal> {
  const token = bearer(request) ?? ''
  if (matchesHash(token, operatorTokenHash)) return { kind: 'operator' }
  const { operatorToken = null } = identify
  const isOperator =
    operatorToken !== null && hasOurAudience(token) && (await operatorToken(token, request.ip, isUrgent))
  if (isOperator) return { kind: 'operator' }
  const what = operatorToken === null ? '' : ", or the operator's projected ServiceAccount token"
  throw unauthorized(`the operator token${what} (\`Authorization: Bearer …\`)`)
}

const IN_CLUSTER =
  'a session (sign in at /api/auth/login), or a bearer token or client certificate of the cluster'

async function user(request: FastifyRequest, deps: CallDeps): Promise<UserPrincipal> {
  const found = await signedIn(request, deps)
  if (found === undefined)
    throw unauthorized(deps.identify.clusterCallers ? IN_CLUSTER : 'a session: sign in at /api/auth/login')
  return found
}

/**
 * Authenticates a user for a route that requires only a session. Rejects with `forbidden` when a user of the
 * cluster writes, because RBAC grants no right to such a route.
 */
async function ownUser(request: FastifyRequest, deps: CallDeps): Promise<UserPrincipal> {
  const found = await user(request, deps)
  if (found.via !== 'cluster' || request.method === 'GET') return found
  const detail =
    'This request requires a session, because no role of the cluster can give the right to it. Sign in at /api/auth/login and send the request with the session.'
  throw new ChaperoneError('forbidden', { detail })
}

async function signedIn(request: FastifyRequest, deps: CallDeps): Promise<UserPrincipal | undefined> {
  const token = bearer(request)
  if (token !== undefined)
    return matchesHash(token, deps.adminTokenHash) ? ADMIN : clusterCaller(token, request, deps)
  const subject = certificateSubject(request)
  if (subject !== undefined) return deps.identify.clusterCallers?.byCertificate(subject, deps.isUrgent)
  const ids = sessionCookies(request)
  if (ids.length === 0) return undefined
  const found = await deps.identify.session(ids, pageSecretOf(request), deps.isUrgent, request.ip)
  if (found !== undefined) refuseForeignOrigin(request, deps.publicUrl)
  return found
}

/**
 * Authenticates a user of the cluster by a bearer token. Keys and tokens that Chaperone issued are not sent to the API
 * server.
 */
async function clusterCaller(
  token: string,
  request: FastifyRequest,
  { identify, isUrgent }: CallDeps,
): Promise<UserPrincipal | undefined> {
  if (/^svc_/.test(token)) return undefined
  return identify.clusterCallers?.byToken(token, sourceOf(request), isUrgent)
}

/**
 * Returns the client address of the request. On loopback, the port is appended, because all users of a `kubectl
 * port-forward` share the address.
 */
function sourceOf({ ip, raw }: FastifyRequest): string {
  const isShared = isLoopback(ip.replace(/^::ffff:/i, ''))
  return isShared ? `${ip} port ${raw.socket.remotePort ?? 0}` : ip
}

async function approver(request: FastifyRequest, deps: CallDeps): Promise<UserPrincipal> {
  const token = bearer(request)
  if (isAgentKey(token)) {
    throw new ChaperoneError('forbidden', {
      detail: 'Agents cannot answer approvals. Sign in as a member, or use an approver key (svc_user_…).',
    })
  }
  if (token === undefined || !token.startsWith('svc_user_')) return user(request, deps)
  const found = await deps.identify.approverKey(token, request.ip)
  if (found === undefined) throw unauthorized('a valid approver key')
  return found
}

async function agent(request: FastifyRequest, { identify, isUrgent }: CallDeps): Promise<AgentPrincipal> {
  const key = bearer(request)
  const found = key !== undefined && isAgentKey(key) ? await identify.agentKey(key, isUrgent) : undefined
  if (found === undefined) throw unauthorized('the key of an active agent (`Authorization: Bearer svc_…`)')
  return found
}

/** Reports whether a request has a session cookie, a bearer token or a client certificate, valid or not. */
export function hasCredentials(request: FastifyRequest): boolean {
  const isNamed = bearer(request) !== undefined || certificateSubject(request) !== undefined
  return isNamed || sessionCookies(request).length > 0
}

function isAgentKey(token: string | undefined): boolean {
  return token !== undefined && /^svc_(live|test)_/.test(token)
}

function bearer(request: FastifyRequest): string | undefined {
  const [scheme, token, ...rest] = (request.headers.authorization ?? '').split(' ')
  return scheme?.toLowerCase() === 'bearer' && token && rest.length === 0 ? token : undefined
}

function unauthorized(what: string): ChaperoneError {
  return new ChaperoneError('unauthorized', { detail: `This request requires ${what}.` })
}
