import { ChaperoneError } from '../../core/errors.ts'
import { claimProcesses } from '../store/process-owners.ts'
import type { Query } from '../store/query.ts'

/** Whose credential a call came with. */
export type ProcessOwner = {
  readonly gatewayId: string
  /** Null outside of pods: there the gateway's enrolment token is the credential. */
  readonly sidecar: { readonly podUid: string } | null
}

/** Throws `forbidden` when one of the processes belongs to somebody else; unknown ones become the owner's. */
export type OwnProcesses = (owner: ProcessOwner, processIds: readonly string[]) => Promise<void>

/** Ownership never changes while the owner exists; read again now and then so that the rows of live processes stay. */
const TTL_MS = 3_600_000
const MAX_CACHED = 20_000

export function createProcessOwners(db: Query, nowMs: () => number = () => performance.now()): OwnProcesses {
  const cached = new Map<string, { readonly owner: string; readonly untilMs: number }>()
  return async ({ gatewayId, sidecar }, processIds) => {
    const owner = sidecar === null ? `gateway:${gatewayId}` : `pod:${sidecar.podUid}`
    const now = nowMs()
    const isKnown = (id: string) => {
      const known = cached.get(id)
      return known !== undefined && known.owner === owner && known.untilMs > now
    }
    const asked = [...new Set(processIds)].filter((id) => !isKnown(id))
    if (asked.length === 0) return
    const own = await claimProcesses(db, owner, asked)
    if (cached.size + own.length > MAX_CACHED) cached.clear()
    for (const id of own) cached.set(id, { owner, untilMs: now + TTL_MS })
    const foreign = asked.find((id) => !own.includes(id))
    if (foreign === undefined) return
    const detail = `Process ${foreign.slice(0, 128)} belongs to another gateway or pod: each process makes an id of its own`
    throw new ChaperoneError('forbidden', { detail })
  }
}
