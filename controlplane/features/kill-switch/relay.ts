import { widestScope } from '../../../core/decision/kill-switch/kill-reach.ts'
import type { KillRelayBody, KillRelayReply } from '../../../core/wire/operator/operator.ts'
import { systemActor } from '../audit/actor.ts'
import { checkedScope, type KillReply, type KillSwitch } from './service.ts'

/**
 * Applies the kill switches that the operator reads from the cluster. A kill switch is in force on this replica before
 * it is stored.
 */
export type KillRelay = {
  /** Sets the kill switches of one source; idempotent. Throws `validation` for an invalid scope. */
  apply(body: KillRelayBody): Promise<KillRelayReply>
  /** Returns the number of sources whose newest revision is cached. For tests. */
  remembered(): number
}

export type KillRelayDeps = {
  readonly killSwitch: Pick<KillSwitch, 'effective' | 'set'>
  /** Returns the time of a monotonic clock, in milliseconds. */
  readonly nowMs?: () => number
}

/**
 * Maximum age in milliseconds of a cached revision. While the cached revision is younger, a lower revision is an
 * older report that arrived late. When the cached revision is older, a lower revision counts as newer, because a
 * cluster that was restored from a backup restarts at a lower revision.
 */
const MAX_REVISION_AGE_MS = 30_000
const NOTHING = { acked: 0, total: 0, ms: 0 }

export function createKillRelay({ killSwitch, nowMs = () => performance.now() }: KillRelayDeps): KillRelay {
  /** Newest revision of each source that this replica received, and the time at which it was received. */
  const newest = new Map<string, { readonly revision: number; readonly at: number }>()
  const isOlder = (source: string, revision: number) => {
    const known = newest.get(source)
    return known !== undefined && revision < known.revision && nowMs() - known.at < MAX_REVISION_AGE_MS
  }
  function remember(source: string, revision: number): void {
    const now = nowMs()
    // Removes expired revisions, which have no effect any more. The removal is necessary because a deleted object sends
    // no report. The map contains the revisions in the order of their times.
    for (const [known, { at }] of newest) {
      if (now - at < MAX_REVISION_AGE_MS) break
      newest.delete(known)
    }
    newest.delete(source)
    newest.set(source, { revision, at: now })
  }
  return {
    remembered: () => newest.size,
    async apply({ source, scopes, reason, by: name, revision }) {
      const by = systemActor(name)
      const wanted = new Set(scopes.map((scope) => scopeOf(source, scope)))
      const applied = !isOlder(source, revision)
      if (!applied) return { applied, effective: [...killSwitch.effective()], acknowledged: NOTHING }
      remember(source, revision)
      const latched = killSwitch.effective().filter((entry) => entry.source === source)
      const isLatched = (scope: string) =>
        latched.some((entry) => entry.scope === scope && (reason === '' || entry.reason === reason))
      const added = [...wanted].filter((scope) => !isLatched(scope))
      const lifted = latched.filter(({ scope }) => !wanted.has(scope))
      const given = reason === '' ? {} : { reason }
      const replies = await Promise.all([
        ...added.map((scope) => killSwitch.set({ active: true, scope, source, by, ...given })),
        ...lifted.map(({ scope }) => killSwitch.set({ active: false, scope, source, by })),
      ])
      const warning = replies.find(({ stored }) => stored === false)?.warning
      return {
        applied,
        effective: [...killSwitch.effective()],
        acknowledged: slowest(replies),
        ...(warning === undefined ? {} : { warning }),
      }
    },
  }
}

/**
 * Replaces the scope `all` by the widest scope that the source may have, because the manifest of one tenant must not
 * affect the agents of another tenant.
 */
function scopeOf(source: string, scope: string): string {
  const checked = checkedScope(scope)
  return checked === 'all' ? widestScope(source) : checked
}

/**
 * Returns the acknowledgements of the scope with the fewest acknowledgements. Ignores scopes that match nothing,
 * because no process acknowledges them and `0 of 0` would hide the other scopes.
 */
function slowest(replies: readonly KillReply[]): KillRelayReply['acknowledged'] {
  const known = replies.filter((reply) => reply.nearest === undefined)
  const sorted = known.map((reply) => reply.acknowledged).sort((a, b) => a.acked - b.acked || b.ms - a.ms)
  return sorted[0] ?? NOTHING
}
