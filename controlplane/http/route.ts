import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { Namespaces, Reach, Right, Role } from '../../core/wire/access/rights.ts'
import type { ClusterUser } from '../db/cluster-user.ts'
import type { Restriction } from './auth/restriction.ts'

/**
 * Callers of a route: a right admits users who have it; `session` any signed-in user; `agent_or_admin` an agent key, or
 * a user with the right to lift kill switches. The admin token acts as an owner. A route without `auth` does not
 * compile.
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

/** The sidecar of a pod. It acts for one agent. */
export type SidecarPrincipal = {
  readonly podUid: string
  /** Namespace of the pod. */
  readonly namespace: string
  readonly agent: { readonly id: string; readonly name: string }
  /** Key that signs the messages to the sidecar while it uses this token. */
  readonly syncKey: Uint8Array
  /** SHA-256 of the token, hex. A different value means that the token was rotated. */
  readonly tokenId: string
  /** Milliseconds since the last TokenReview. */
  readonly reviewAgeMs: number
  /** Sends a new TokenReview. Rejects with `not_ready` when the cluster does not answer. */
  review(): Promise<TokenState>
}

/**
 * Result of a review. `stale`: the token has expired or the pod has a newer one, which does not show whether the pod
 * still exists.
 */
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
      /** Namespaces in which the user has the right that the route requires. */
      readonly namespaces: Namespaces
      /** Namespaces of the role; absent for all namespaces. */
      readonly roleNamespaces?: ReadonlySet<string>
      /** Lower roles that count in further namespaces. */
      readonly lowerRoles?: ReadonlyArray<{ readonly role: Role; readonly namespaces: Namespaces }>
      /** Resolves to the namespaces in which RBAC grants the right; absent for users with a role of their own. */
      readonly clusterRights?: (right: Right, reach: Reach) => Promise<Namespaces>
      /** Credential of a user of the cluster; absent for other users. */
      readonly clusterCredential?: 'token' | 'certificate'
      /** Attributes of a user of the cluster; absent for other users. */
      readonly clusterUser?: ClusterUser
      /** Set for a read-only caller. Routes may admit restrictions. */
      readonly restriction?: Restriction
      /** The session that authenticated the user. */
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
  /**
   * Namespaces in which the user has the right that the route requires. Other objects are not visible. Empty without a
   * user.
   */
  readonly namespaces: Namespaces
  readonly requestId: string
  readonly log: FastifyBaseLogger
  /** For streams and raw responses only. A handler that returns a value must not use it. */
  readonly raw: { readonly request: FastifyRequest; readonly reply: FastifyReply }
}

/** Body of a response that is not JSON. Its handler sets the header `content-type`. */
export type Content = string | Uint8Array

/**
 * Result with another status than 200, with headers or with a content that is not JSON. A handler that uses `raw.reply`
 * returns undefined instead.
 */
export type RouteResult<Body = Content> = {
  readonly status: number
  readonly body: Body
  readonly headers?: Record<string, string | string[]>
}

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly auth: RouteAuth
  /** True for a handler that only uses objects in `namespaces`. Otherwise the right is required in all namespaces. */
  readonly isNamespaced?: boolean
  /** Restrictions that a write admits. The handler must refuse other inputs of restricted callers. Default none. */
  readonly admits?: readonly Restriction[]
  /**
   * True for a route that creates users or credentials that can answer approvals. A program could create them before
   * the owner registers, so the machine token is restricted here even without an owner, while approvals require a
   * session.
   */
  readonly givesAccess?: boolean
  /** True when the response contains a secret. Restricted callers are then refused although the route only reads. */
  readonly showsSecret?: boolean
  readonly summary: string
  readonly params?: z.ZodType
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  readonly response?: z.ZodType
  /** Content type of a success response that is not JSON. */
  readonly produces?: string
  /** Statuses in addition to those that its inputs and `auth` imply. */
  readonly statuses?: readonly number[]
  /** Bodies of error statuses with another body than the common error. */
  readonly failures?: Readonly<Record<number, z.ZodType>>
  /** Maximum size of the request body in bytes; default 1 MiB, without `auth` 64 KiB. */
  readonly bodyLimit?: number
  readonly handler: (input: RouteInput<never, never, never>) => Promise<unknown>
}

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? ReadonlyArray<DeepReadonly<Item>>
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

type Declared<S> = S extends z.ZodType ? DeepReadonly<z.input<S>> : never

/** The reply that `response` declares, a `RouteResult` with it or with a declared failure, or another content. */
type Reply<R, F> = Declared<R> | RouteResult<Declared<R> | Declared<F[keyof F]> | Content> | undefined

type Infer<S> = S extends z.ZodType ? z.infer<S> : undefined

/**
 * Declares a route. The types of its input and reply follow from the schemas of `core/wire`. Input schemas should be
 * strict objects, so that 400 names unknown fields.
 */
export function route<
  P extends z.ZodType | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
  R extends z.ZodType | undefined = undefined,
  F extends Readonly<Record<number, z.ZodType>> = Readonly<Record<never, never>>,
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
  response?: R
  produces?: string
  statuses?: readonly number[]
  failures?: F
  bodyLimit?: number
  handler: (input: RouteInput<Infer<P>, Infer<Q>, Infer<B>>) => Promise<Reply<R, F>>
}): Route {
  return declaration as unknown as Route
}
