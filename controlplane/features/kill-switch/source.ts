import { normaliseScope } from '../../../core/decision/kill-switch/kill-switch.ts'
import type { Query } from '../../db/query.ts'
import type { CancelKilled } from '../approvals/cancellation/service.ts'
import { systemActor } from '../audit/actor.ts'
import { latchKillSwitch, releaseKillSwitch, scopesOfSource } from './store.ts'
import { auditActivated, auditDeactivated } from './storing.ts'

export type KillSource = {
  readonly source: string
  readonly scopes: readonly string[]
  readonly reason: string
  readonly by: string
}

/** Replaces all kill switches of one source, in the caller's transaction. Returns true when a kill switch changed. */
export async function replaceSource(
  { orgId, cancelKilled }: { readonly orgId: string; readonly cancelKilled: CancelKilled },
  q: Query,
  wanted: KillSource,
): Promise<boolean> {
  const { source, reason } = wanted
  const scopes = [...new Set(wanted.scopes.map(normaliseScope))]
  const by = systemActor(wanted.by)
  let isChanged = false
  for (const scope of scopes) {
    const row = { orgId, scope, source, reason, activatedBy: by.label }
    if (await latchKillSwitch(q, row)) {
      isChanged = true
      await auditActivated(q, row, { by })
    }
    await cancelKilled(q, { scope, source, reason, by })
  }
  const surplus = (await scopesOfSource(q, orgId, source)).filter(
    (scope) => !scopes.includes(normaliseScope(scope)),
  )
  for (const scope of surplus) {
    await releaseKillSwitch(q, { orgId, scope, source })
    await auditDeactivated(q, orgId, { scope, by, sources: [source] })
  }
  return isChanged || surplus.length > 0
}
