import { widestScope } from '../../../core/decision/kill-switch/kill-reach.ts'
import type { KillRelayBody, KillRelayReply } from '../../../core/wire/operator/operator.ts'
import { systemActor } from '../audit/store.ts'
import { checkedScope, type KillReply, type KillSwitch } from './service.ts'

/** Stops that the operator saw in the cluster, told to this replica: in force here before anything is stored. */
export type KillRelay = {
  /** Safe to repeat. Throws `validation` for a scope that is none. */
  apply(body: KillRelayBody): Promise<KillRelayReply>
  /** Sources whose newest revision is remembered. */
  remembered(): number
}

export type KillRelayDeps = {
  readonly killSwitch: Pick<KillSwitch, 'effective' | 'set'>
  /** Monotonic. */
  readonly nowMs?: () => number
}

/** What overtook it on the way is not older than this; a cluster restored from a backup counts from lower on. */
const BELIEVED_MS = 30_000
const NOTHING = { acked: 0, total: 0, ms: 0 }

export function createKillRelay({ killSwitch, nowMs = () => performance.now() }: KillRelayDeps): KillRelay {
  /** Source -> the newest revision of its object that was heard here, and when. */
  const newest = new Map<string, { readonly revision: number; readonly at: number }>()
  const isOlder = (source: string, revision: number) => {
    const known = newest.get(source)
    return known !== undefined && revision < known.revision && nowMs() - known.at < BELIEVED_MS
  }
  function remember(source: string, revision: number): void {
    const now = nowMs()
    // In the order of their times. Older ones count no more, and the sources of deleted objects come no more.
    for (const [known, { at }] of newest) {
      if (now - at < BELIEVED_MS) break
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
        ...{ applied, effective: [...killSwitch.effective()], acknowledged: slowest(replies) },
        ...(warning === undefined ? {} : { warning }),
      }
    },
  }
}

/** The object of one tenant must not stop another's: `all` means all that its source may stop. */
function scopeOf(source: string, scope: string): string {
  const checked = checkedScope(scope)
  return checked === 'all' ? widestScope(source) : checked
}

/** A scope that nothing bears has nobody to acknowledge it: its `0 of 0` says nothing of the other scopes. */
function slowest(replies: readonly KillReply[]): KillRelayReply['acknowledged'] {
  const known = replies.filter((reply) => reply.nearest === undefined)
  const sorted = known.map((reply) => reply.acknowledged).sort((a, b) => a.acked - b.acked || b.ms - a.ms)
  return sorted[0] ?? NOTHING
}
