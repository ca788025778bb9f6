import { MAX_HANDLES } from '../../core/connectors/handles/handle.ts'
import { handleScope } from '../../core/connectors/handles/handle-scope.ts'
import type { HandleOwner } from '../../core/decision/handle-owner.ts'
import { type HandlesBody, HandlesReply } from '../../core/wire/gateway/handles.ts'
import { SYNC_PATHS } from '../../core/wire/gateway/sync.ts'
import { sha256Hex } from '../../runtime/sha256.ts'
import { createLru } from '../collections/lru.ts'
import type { HandlePort } from '../pipeline/ports.ts'
import { type ControlClient, jsonOf } from './client/client.ts'
import { postWithin } from './client/post-within.ts'

/** Fetches the owners of handles from the control plane. Rejects when there is no reply within a second. */
export type FetchHandleOwners = (request: HandlesBody) => Promise<HandlesReply>

/** Maximum number of handles in memory. Beyond this number, the least recently used handle is evicted. */
const MAX_GIVEN = 100_000
const MAX_ANSWERS = 100_000
/**
 * Time in milliseconds for which a reply of the control plane is cached. The time for unknown handles is short, because
 * an unknown handle may be assigned to an agent at any time.
 */
const ANSWER_MS = { own: 600_000, foreign: 600_000, unknown: 10_000 } as const
/**
 * Time limit in milliseconds of a call for owners. The limit is short, because the call adds to the latency of a
 * request.
 */
const TIMEOUT_MS = 1_000

type Deps = { readonly fetchOwners: FetchHandleOwners; readonly monotonicMs: () => number }

/**
 * Creates the registry of the agents to which providers returned handles through this process. The registry fetches all
 * other owners from the control plane. Without a reply, a handle of another agent in the registry is `foreign`, and any
 * other handle is `unknown`.
 */
export function createHandleRegistry({ fetchOwners, monotonicMs }: Deps): HandlePort {
  const given = createLru<readonly string[]>(MAX_GIVEN)
  const answers = createLru<{ readonly owner: HandleOwner; readonly until: number }>(MAX_ANSWERS)

  function cachedOwner(key: string, agentId: string): HandleOwner | null {
    if (given.get(key)?.includes(agentId) === true) return 'own'
    const answer = answers.get(`${agentId} ${key}`)
    return answer === undefined || answer.until < monotonicMs() ? null : answer.owner
  }

  function cacheOwner(key: string, agentId: string, owner: HandleOwner): HandleOwner {
    answers.set(`${agentId} ${key}`, { owner, until: monotonicMs() + ANSWER_MS[owner] })
    return owner
  }

  /**
   * Returns the owner when the control plane did not reply: `foreign` when another agent received the handle through
   * this process.
   */
  const ownerWithoutReply = (key: string): HandleOwner =>
    given.get(key) === undefined ? 'unknown' : 'foreign'

  /** Returns the owners of up to `MAX_HANDLES` handles, in order; undefined where the control plane sent no answer. */
  async function fetchAll(agent: string, hashes: readonly string[]): Promise<(HandleOwner | undefined)[]> {
    const owners = await fetchOwners({ agent, hashes: [...hashes] }).then(
      (reply) => reply.owners,
      () => [],
    )
    return hashes.map((_hash, at) => owners[at])
  }

  return {
    keyOf: (bound, { kind, id }) => sha256Hex(`${handleScope(bound)}\n${kind}\n${id}`),
    give(key, { id }) {
      const owners = given.get(key) ?? []
      if (!owners.includes(id)) given.set(key, [...owners, id])
    },
    ownersOf(keys, { id, name }) {
      const here = keys.map((key) => cachedOwner(key, id))
      if (here.every((owner) => owner !== null)) return here
      const hashes = keys.filter((_key, at) => here[at] === null)
      return Promise.all(chunksOf(hashes).map((some) => fetchAll(name, some))).then((chunks) => {
        const owners = chunks.flat()
        const learned = new Map(
          hashes.map((key, at) => {
            const owner = owners[at]
            if (owner === undefined) return [key, ownerWithoutReply(key)]
            return [key, cacheOwner(key, id, owner === 'unknown' ? ownerWithoutReply(key) : owner)]
          }),
        )
        return keys.map((key, at) => here[at] ?? learned.get(key) ?? 'unknown')
      })
    },
  }
}

function chunksOf(hashes: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(hashes.length / MAX_HANDLES)
  return Array.from({ length: count }, (_, at) => hashes.slice(at * MAX_HANDLES, (at + 1) * MAX_HANDLES))
}

export function createFetchHandleOwners(client: () => ControlClient): FetchHandleOwners {
  return async (request) => {
    const reply = await postWithin(client(), SYNC_PATHS.handles, request, TIMEOUT_MS)
    const parsed = reply === undefined ? undefined : HandlesReply.safeParse(jsonOf(reply))
    if (parsed?.success !== true)
      throw new Error(
        'the control plane did not report which agents created the files or other resources that the request names',
      )
    return parsed.data
  }
}
