import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { Namespaces, Reach, Right, Role } from '../../core/wire/access/rights.ts'
import type { DeepReadonly } from '../../core/wire/schema/fields.ts'
import type { ClusterUser } from '../db/cluster-user.ts'
import type { Restriction } from './auth/restriction.ts'

/**
 * Callers that a route admits. A right admits users with this right. `session` admits every signed-in user.
 * `agent_or_admin` admits agent keys and users with the right to lift kill switches. The admin token counts as an
 * owner. A route without `auth` does not compile.
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

/** The sidecar of a pod. A sidecar acts for exactly one agent. */
export type SidecarPrincipal = {
  readonly podUid: string
  /** Namespace of the pod. */
  readonly namespace: string
  readonly agent: { readonly id: string; readonly name: string }
  /** Key that signs the messages to the sidecar until the token of the sidecar is rotated. */
  readonly syncKey: Uint8Array
  /** SHA-256 of the token in hex. A changed value shows that the token was rotated. */
  readonly tokenId: string
  /** Milliseconds since the last TokenReview of the token. */
  readonly reviewAgeMs: number
  /** Sends a new TokenReview. Rejects with `not_ready` when the API server does not answer. */
  review(): Promise<TokenState>
}

/**
 * Result of a TokenReview. `stale`: the token has expired, or the pod has presented a newer token. A stale token does
 * not show whether the pod still exists.
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
      /** Namespaces in which the user's role counts; absent when the role counts in all namespaces. */
      readonly roleNamespaces?: ReadonlySet<string>
      /** Lower roles of the user, which count in further namespaces. */
      readonly lowerRoles?: ReadonlyArray<{ readonly role: Role; readonly namespaces: Namespaces }>
      /**
       * Resolves to the namespaces in which Kubernetes RBAC grants a right. Absent for a user with a role in Chaperone.
       */
      readonly clusterRights?: (right: Right, reach: Reach) => Promise<Namespaces>
      /** Type of credential of a user of the cluster; absent for other users. */
      readonly clusterCredential?: 'token' | 'certificate'
      /** Kubernetes attributes of a user of the cluster; absent for other users. */
      readonly clusterUser?: ClusterUser
      /**
       * Reason why the caller is read-only; absent for an unrestricted caller. A route may admit restricted callers by
       * `admits`.
       */
      readonly restriction?: Restriction
      /** Session that authenticated the user; absent for other credentials. */
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
   * Namespaces in which the user has the right that the route requires. The handler must not show objects in other
   * namespaces. Empty for a caller that is not a user.
   */
  readonly namespaces: Namespaces
  readonly requestId: string
  readonly log: FastifyBaseLogger
  /**
   * Request and reply of the framework. Only handlers of streams and of raw responses may use them; a handler that
   * returns a value must not.
   */
  readonly raw: { readonly request: FastifyRequest; readonly reply: FastifyReply }
}

/** Body of a response that is not JSON. The handler must set the header `content-type`. */
export type Content = string | Uint8Array

/**
 * Response with a status other than 200, with headers, or with a body that is not JSON. A handler that uses `raw.reply`
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
  /**
   * True for a handler that only uses objects in `namespaces`. Otherwise the caller needs the right in all namespaces.
   */
  readonly isNamespaced?: boolean
  /**
   * Restrictions with which a caller may still write through this route; default none. The handler must refuse the
   * inputs that a restricted caller may not send.
   */
  readonly admits?: readonly Restriction[]
  /**
   * True for a route that creates users or credentials which can answer approvals. If approvals require a session, such
   * a route refuses the token of the CLI even before an owner exists. Otherwise, a program that reads this token could
   * create a user before the owner registers.
   */
  readonly givesAccess?: boolean
  /**
   * True when the response contains a secret. The route then refuses restricted callers, who may call other routes
   * that only read.
   */
  readonly showsSecret?: boolean
  readonly summary: string
  readonly params?: z.ZodType
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  readonly response?: z.ZodType
  /** Content type of a successful response that is not JSON. */
  readonly produces?: string
  /** Possible statuses in addition to the statuses that follow from the inputs and from `auth`. */
  readonly statuses?: readonly number[]
  /** Schemas of error bodies, by status, that differ from the common error body. */
  readonly failures?: Readonly<Record<number, z.ZodType>>
  /** Maximum size of the request body in bytes. Default: 1 MiB, or 64 KiB for a route without authentication. */
  readonly bodyLimit?: number
  readonly handler: (input: RouteInput<never, never, never>) => Promise<unknown>
}

type Declared<S> = S extends z.ZodType ? DeepReadonly<z.input<S>> : never

/**
 * Possible results of a handler: the declared reply, a `RouteResult` with the reply or a declared failure, or a body
 * that is not JSON.
 */
type Reply<R, F> = Declared<R> | RouteResult<Declared<R> | Declared<F[keyof F]> | Content> | undefined

type Infer<S> = S extends z.ZodType ? z.infer<S> : undefined

/**
 * Declares a route. TypeScript infers the types of input and reply from the schemas of `core/wire`. Input schemas
 * should be strict objects, so that the error 400 names unknown fields.
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
