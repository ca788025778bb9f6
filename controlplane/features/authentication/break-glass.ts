import * as z from 'zod'
import { BREAK_GLASS_KEY, MAX_BREAK_GLASS_MS } from '../../../core/wire/access/break-glass.ts'
import { hasRole } from '../../../core/wire/access/rights.ts'
import { isAdministered, setAdministered } from '../../db/orgs.ts'
import type { Db } from '../../db/query.ts'
import type { UserPrincipal } from '../../http/auth/authenticate.ts'
import type { BreakGlass } from '../../http/auth/owner-token.ts'
import { actorOf, systemActor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import type { KubeClient } from './cluster/kube-client.ts'
import { ownerTokenUses } from './owner-token-use-store.ts'

export type BreakGlassDeps = {
  readonly db: Db
  readonly orgId: string
  readonly kube: Pick<KubeClient, 'get'>
  /** The Kubernetes Secret that contains the owner's token. */
  readonly secret: { readonly namespace: string; readonly name: string }
  readonly nowMs: () => number
}

export type OwnerTokenWarnings = () => Promise<readonly string[]>

const Secret = z.object({ data: z.object({ [BREAK_GLASS_KEY]: z.string() }) })
/** Tolerated clock skew between this machine and the machine that wrote the Secret, in milliseconds. */
const CLOCK_SKEW_MS = 60_000

/**
 * Creates the check of the owner's token (break glass) of an installation in a cluster. After the first sign-in of an
 * admin, the token works only until the time that the token's Secret states. A user who may update the Secret can
 * therefore reopen the token, without a rollout.
 */
export function createBreakGlass(deps: BreakGlassDeps): BreakGlass {
  const { db, orgId, kube, secret, nowMs } = deps
  const path = `/api/v1/namespaces/${secret.namespace}/secrets/${secret.name}`
  // The result is cached until the process ends. The removal of the last admin does not reopen the token; only a time
  // in the Secret does.
  let isKnown = false

  async function isInUse(): Promise<boolean> {
    isKnown ||= await isAdministered(db)
    return isKnown
  }

  /** Returns the time until which the token works; null when the Secret does not state a valid time in the future. */
  async function openUntil(): Promise<string | null> {
    const parsed = Secret.safeParse(await kube.get(path))
    if (!parsed.success) return null
    const text = Buffer.from(parsed.data.data[BREAK_GLASS_KEY], 'base64').toString('utf8').trim()
    const restMs = Date.parse(text) - nowMs()
    return restMs > 0 && restMs <= MAX_BREAK_GLASS_MS + CLOCK_SKEW_MS ? text : null
  }

  return {
    async noteAdmin(user) {
      if (isKnown || !isAdministrator(user)) return
      await db.tx(async (q) => {
        if (!(await setAdministered(q))) return
        const details = { change: 'owner_token_closed' }
        await recordEvent(q, { orgId, actor: actorOf(user), type: 'settings.updated', details })
      })
      isKnown = true
    },
    async isClosed(use) {
      const isNeeded = await isInUse()
      const until = isNeeded ? await openUntil() : null
      const state = stateOf(isNeeded, until)
      const details = { ...use, state, ...(until === null ? {} : { open_until: until }) }
      await recordEvent(db, { orgId, actor: systemActor('owner-token'), type: 'owner_token.used', details })
      return state === 'closed'
    },
  }
}

/** Creates the warnings about uses of the owner's token, which the page Overview shows. */
export function createOwnerTokenWarnings({
  db,
  orgId,
}: Pick<BreakGlassDeps, 'db' | 'orgId'>): OwnerTokenWarnings {
  return async () => {
    const { count, last } = await ownerTokenUses(db, orgId)
    if (last === null) return []
    const times = count === 1 ? 'once' : `${count} times`
    const { method, path } = last.details
    const at = last.createdAt.toISOString().replace(/\.\d+Z$/, 'Z')
    return [
      `The owner's token was used ${times} in the last 24 hours, the last time at ${at} (${method} ${path}). The audit log lists every use as owner_token.used. Check that an administrator made them.`,
    ]
  }
}

function stateOf(isNeeded: boolean, until: string | null): 'not_required' | 'open' | 'closed' {
  if (!isNeeded) return 'not_required'
  return until === null ? 'closed' : 'open'
}

/**
 * Reports whether the caller is a user with the role admin. Excludes ServiceAccounts and nodes, because their rights do
 * not prove that users can sign in.
 */
function isAdministrator({ via, role, email, roleNamespaces, restriction }: UserPrincipal): boolean {
  if (!hasRole(role, 'admin') || roleNamespaces !== undefined || restriction === 'unchecked') return false
  return via === 'session' || (via === 'cluster' && !/^system:(serviceaccount|node):/.test(email))
}
