import { ChaperoneError } from '../../../../core/errors.ts'
import type { Namespaces, Reach, Right } from '../../../../core/wire/access/rights.ts'
import type { ClusterUser } from '../../../db/cluster-user.ts'
import { governedNamespaces } from '../../../db/namespaces.ts'
import type { Db } from '../../../db/query.ts'
import { reviewAccess } from './access-review.ts'
import type { KubeClient } from './kube-client.ts'

/**
 * Cache time of a right in milliseconds. A right that RBAC withdraws remains in force for at most this time plus
 * `REVIEW_MS_PER_NAMESPACE` for each reviewed namespace.
 */
const REVIEW_MS = 10_000
/**
 * Additional cache time per reviewed namespace, in milliseconds. Limits the reviews that one user causes to 50 per
 * second for each right.
 */
const REVIEW_MS_PER_NAMESPACE = 20
const MAX_RIGHTS = 10_000
/** Maximum number of concurrent reviews. The HTTP client has the same number of connections. */
const IN_FLIGHT = 8
/** Maximum number of concurrent reviews for one user and right. The remaining reviews are queued. */
const IN_FLIGHT_PER_RIGHT = 4
const MAX_PENDING = 4_000

export type ClusterRightsDeps = { readonly db: Db; readonly kube: Pick<KubeClient, 'create'> }
export type ClusterRightsOf = (user: ClusterUser, right: Right, reach: Reach) => Promise<Namespaces>
type Known = { readonly untilMs: number; readonly namespaces: Promise<Namespaces> }

/**
 * Creates the function that finds the namespaces in which RBAC grants a right to a user: all namespaces or, if `reach`
 * is `namespaces`, those namespaces with Gateways or agents in which RBAC grants the right. Rejects with `not_ready`
 * when the API server does not answer, or when too many reviews are pending.
 */
export function createClusterRights(
  { db, kube }: ClusterRightsDeps,
  nowMs: () => number = () => performance.now(),
): ClusterRightsOf {
  const known = new Map<string, Known>()
  const inTurn = createTurns(IN_FLIGHT)

  const isAllowed = (user: ClusterUser, right: Right, namespace: string): Promise<boolean> =>
    inTurn(() => reviewAccess(kube, user, { right, namespace }))

  async function inNamespaces(
    user: ClusterUser,
    right: Right,
    names: readonly string[],
  ): Promise<Namespaces> {
    const found = new Set<string>()
    const left = names.values()
    const next = async () => {
      for (const name of left) if (await isAllowed(user, right, name)) found.add(name)
    }
    await Promise.all(Array.from({ length: IN_FLIGHT_PER_RIGHT }, next))
    return new Set(names.filter((name) => found.has(name)))
  }

  /** Reviews the right of the user. `count` in the result: number of namespaces that were reviewed one by one. */
  async function ask(user: ClusterUser, right: Right, reach: Reach) {
    if (await isAllowed(user, right, '')) return { namespaces: 'all' as const, count: 0 }
    const names = reach === 'cluster' ? [] : await governedNamespaces(db)
    return { namespaces: await inNamespaces(user, right, names), count: names.length }
  }

  function remember(key: string, entry: Known): void {
    known.delete(key)
    const [oldest] = known.keys()
    if (known.size >= MAX_RIGHTS && oldest !== undefined) known.delete(oldest)
    known.set(key, entry)
  }

  return (user, right, reach) => {
    const key = JSON.stringify([right, reach, user])
    const cached = known.get(key)
    if (cached !== undefined && cached.untilMs > nowMs()) return cached.namespaces
    const atMs = nowMs()
    const asked = ask(user, right, reach)
    const namespaces = asked.then((answer) => answer.namespaces)
    // Concurrent requests of the same user share the pending review.
    remember(key, { untilMs: Number.POSITIVE_INFINITY, namespaces })
    asked.then(
      ({ count }) =>
        remember(key, { untilMs: atMs + REVIEW_MS + count * REVIEW_MS_PER_NAMESPACE, namespaces }),
      () => known.delete(key),
    )
    return namespaces
  }
}

/**
 * Creates a first-in, first-out queue that runs at most `most` calls at a time. Throws while `MAX_PENDING` calls wait.
 */
function createTurns(most: number) {
  const pending: Array<() => void> = []
  let running = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (pending.length >= MAX_PENDING) throw tooMany()
    if (running >= most) await new Promise<void>((resolve) => pending.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      const next = pending.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}

function tooMany(): ChaperoneError {
  const detail =
    'The control plane is checking the cluster rights of too many users at once. Try again in a moment.'
  return new ChaperoneError('not_ready', { detail, retryAfterS: 1 })
}
