import { widestScope } from '../../core/decision/kill-reach.ts'
import type { KillRelayBody, KillRelayReply } from '../../core/wire/operator.ts'
import { systemActor } from '../store/audit.ts'
import { checkedScope, type KillReply, type KillSwitch } from './kill-switch.ts'

/** Stops that the operator saw in the cluster, told to this replica: in force here before anything is stored. */
export type KillRelay = {
  /** Safe to repeat. Throws `validation` for a scope that is none. */
  apply(body: KillRelayBody): Promise<KillRelayReply>
}

export type KillRelayDeps = { readonly killSwitch: Pick<KillSwitch, 'effective' | 'set'> }

/** What overtook it on the way is not older than this; a cluster restored from a backup counts from lower on. */
const BELIEVED_MS = 30_000
const NOTHING = { acked: 0, total: 0, ms: 0 }

export function createKillRelay({ killSwitch }: KillRelayDeps): KillRelay {
  /** Source -> the newest revision of its object that was heard here, and when. */
  const newest = new Map<string, { readonly revision: number; readonly at: number }>()
  const isOlder = (source: string, revision: number) => {
    const known = newest.get(source)
    return known !== undefined && revision < known.revision && performance.now() - known.at < BELIEVED_MS
  }
  return {
    async apply({ source, scopes, reason, by: name, revision }) {
      const by = systemActor(name)
      const wanted = new Set(scopes.map((scope) => scopeOf(source, scope)))
      const applied = !isOlder(source, revision)
      if (!applied) return { applied, effective: [...killSwitch.effective()], acknowledged: NOTHING }
      newest.set(source, { revision, at: performance.now() })
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
