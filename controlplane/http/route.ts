import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { Namespaces, Reach, Right, Role } from '../../core/wire/rights.ts'
import type { ClusterUser } from '../db/cluster-user.ts'
import type { Restriction } from './auth/restriction.ts'

/**
 * Who may call a route. A right admits the people who have it; `session` is any signed-in user; `agent_or_admin` an agent
 * key, or a person who may lift kill switches. The admin token of the laptop install acts as an owner. Without `auth` a
 * route does not compile.
 */
export type RouteAuth =
  | 'none'
  | 'session'
  | Right
  | 'agent'
  | 'agent_or_admin'
  | 'gateway'
  | 'operator'
  | 'maintenance'

/** The sidecar of a pod: it acts for one agent, and ends with its pod. */
export type SidecarPrincipal = {
  readonly podUid: string
  /** Of the pod. */
  readonly namespace: string
  readonly agent: { readonly id: string; readonly name: string }
  /** Signs what it is sent while it uses this token. */
  readonly syncKey: Uint8Array
  /** SHA-256 of the token, hex: another one means that the token was rotated. */
  readonly tokenId: string
  /** Milliseconds since the cluster reviewed the token. */
  readonly reviewAgeMs: number
  /** Asks the cluster about the token again. Rejects with `not_ready` when the cluster does not answer. */
  review(): Promise<TokenState>
}

/** `stale`: it is rejected after its expiry, or the pod has a newer one, which says nothing about the pod. */
export type TokenState = 'valid' | 'stale' | 'invalid'

export type Principal =
  | { readonly kind: 'anonymous' }
  | {
      readonly kind: 'user'
      readonly userId: string
      readonly email: string
      readonly role: Role
      readonly groups: readonly string[]
      readonly via: 'session' | 'admin_token' | 'approver_key' | 'cluster'
      /** Where the user has the right that the route requires. */
      readonly namespaces: Namespaces
      /** Where the role counts; absent = in all. */
      readonly roleNamespaces?: ReadonlySet<string>
      /** Lower roles that count in other namespaces, too. */
      readonly lowerRoles?: ReadonlyArray<{ readonly role: Role; readonly namespaces: Namespaces }>
      /** Where the cluster gives its caller a right; absent where the role decides. */
      readonly clusterRights?: (right: Right, reach: Reach) => Promise<Namespaces>
      /** How the cluster identified its caller; absent for everybody else. */
      readonly clusterCredential?: 'token' | 'certificate'
      /** The caller's attributes in the cluster; absent for everybody else. */
      readonly clusterUser?: ClusterUser
      /** Set for a caller who may only read, apart from what routes admit. */
      readonly restriction?: Restriction
      /** The session that vouches for the user. */
      readonly session?: { readonly id: string; readonly isPage: boolean }
    }
  | {
      readonly kind: 'agent'
      readonly agentId: string
      readonly name: string
      readonly capabilities: readonly string[]
      readonly restriction?: Restriction
    }
  | {
      readonly kind: 'gateway'
      readonly gatewayId: string
      readonly name: string
      readonly processId: string
      readonly sidecar: SidecarPrincipal | null
      readonly restriction?: Restriction
    }
  | { readonly kind: 'operator' }
  | { readonly kind: 'maintenance' }

export type RouteInput<P, Q, B> = {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly principal: Principal
  /** Where the user has the right that the route requires: what is elsewhere does not exist for them. Nowhere without a user. */
  readonly namespaces: Namespaces
  readonly requestId: string
  readonly log: FastifyBaseLogger
  /** For streams and raw answers only; a handler that returns a value must not touch it. */
  readonly raw: { readonly request: FastifyRequest; readonly reply: FastifyReply }
}

/** `{status, body}` when the status is not 200. `undefined` when the handler has taken over `raw.reply`. */
export type RouteResult = {
  readonly status: number
  readonly body: unknown
  readonly headers?: Record<string, string | string[]>
}

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly auth: RouteAuth
  /** Its handler keeps to `namespaces` of the principal. Without it, the right is required in all namespaces. */
  readonly isNamespaced?: boolean
  /** Restricted callers that a write admits; its handler refuses their other inputs. Without it, a write admits none. */
  readonly admits?: readonly Restriction[]
  /**
   * Makes users or what answers approvals, which a program could prepare before the owner registers: the machine token is
   * restricted here without an owner, too, while approvals require a session.
   */
  readonly givesAccess?: boolean
  /** Answers a secret: refused to restricted callers although it only reads. */
  readonly showsSecret?: boolean
  readonly summary: string
  readonly params?: z.ZodType
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  readonly response?: z.ZodType
  /** Content type of a success that is not JSON. */
  readonly produces?: string
  /** Further statuses that it answers with, beside what its inputs and `auth` imply. */
  readonly statuses?: readonly number[]
  /** Bodies of statuses whose body is not the common error. */
  readonly failures?: Readonly<Record<number, z.ZodType>>
  /** Bytes; default 1 MiB. */
  readonly bodyLimit?: number
  readonly handler: (input: RouteInput<never, never, never>) => Promise<unknown>
}

type Infer<S> = S extends z.ZodType ? z.infer<S> : undefined

/** Declares one route. Input schemas decide the handler's types; strict objects, so unknown fields are named in the 400. */
export function route<
  P extends z.ZodType | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(declaration: {
  method: Route['method']
  path: string
  auth: RouteAuth
  isNamespaced?: boolean
  admits?: readonly Restriction[]
  givesAccess?: boolean
  showsSecret?: boolean
  summary: string
  params?: P
  query?: Q
  body?: B
  response?: z.ZodType
  produces?: string
  statuses?: readonly number[]
  failures?: Readonly<Record<number, z.ZodType>>
  bodyLimit?: number
  handler: (input: RouteInput<Infer<P>, Infer<Q>, Infer<B>>) => Promise<unknown>
}): Route {
  return declaration as unknown as Route
}
