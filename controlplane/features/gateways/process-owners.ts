import { ChaperoneError } from '../../../core/errors.ts'
import type { Query } from '../../db/query.ts'
import { claimProcesses, MAX_NEW_PER_HOUR } from './process-owner-store.ts'

/** The gateway or pod whose credential authenticated a call. */
export type ProcessOwner = {
  readonly gatewayId: string
  /**
   * Pod of a sidecar. Null for a gateway process outside pods, which authenticates with the enrolment token of its
   * gateway.
   */
  readonly sidecar: { readonly podUid: string } | null
}

/**
 * Checks that processes belong to the owner, and claims unknown processes for the owner. `isUrgent`: accepts expired
 * cache entries and reads the database for unknown processes only. Throws `forbidden` when a process belongs to another
 * owner; the field `refused` lists its id. Throws `rate_limited` when the owner has claimed too many new ids.
 */
export type OwnProcesses = (
  owner: ProcessOwner,
  processIds: readonly string[],
  isUrgent?: boolean,
) => Promise<void>

/**
 * Time for which a cached owner needs no database read, in milliseconds. Ownership does not change while the owner
 * exists. The expiry only refreshes the database rows of running processes, because rows without a refresh are deleted.
 */
const TTL_MS = 3_600_000
const MAX_CACHED = 20_000

export function createProcessOwners(db: Query, nowMs: () => number = () => performance.now()): OwnProcesses {
  const cached = new Map<string, { readonly owner: string; readonly untilMs: number }>()
  return async ({ gatewayId, sidecar }, processIds, isUrgent = false) => {
    const owner = ownerKey({ gatewayId, sidecar })
    const now = nowMs()
    const isKnown = (id: string) => {
      const known = cached.get(id)
      return known !== undefined && known.owner === owner && (isUrgent || known.untilMs > now)
    }
    const asked = [...new Set(processIds)].filter((id) => !isKnown(id))
    if (asked.length === 0) return
    const { own, foreign } = await claimProcesses(db, owner, asked)
    if (cached.size + own.length > MAX_CACHED) cached.clear()
    for (const id of own) cached.set(id, { owner, untilMs: now + TTL_MS })
    if (foreign.length > 0) throw belongsToAnother(foreign)
    if (own.length < asked.length) throw tooManyNew()
  }
}

export function ownerKey({ gatewayId, sidecar }: ProcessOwner): string {
  return sidecar === null ? `gateway:${gatewayId}` : `pod:${sidecar.podUid}`
}

function belongsToAnother(processIds: readonly string[]): ChaperoneError {
  const [first = ''] = processIds
  const detail = `Process ${first.slice(0, 128)} belongs to another gateway or pod. Each process must generate its own id.`
  return new ChaperoneError('forbidden', { detail, extra: { refused: { process_ids: processIds } } })
}

function tooManyNew(): ChaperoneError {
  const detail = `This gateway or pod has used more than ${MAX_NEW_PER_HOUR} new process ids within an hour. Send this again later.`
  return new ChaperoneError('rate_limited', { detail, retryAfterS: 60 })
}
