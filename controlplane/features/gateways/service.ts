import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import type { Query } from '../../db/query.ts'
import type { Actor } from '../audit/actor.ts'
import { type AuditEvent, recordEvent } from '../audit/events.ts'
import { insertHandles } from './processes/handle-store.ts'
import { claimProcesses, MAX_NEW_PER_HOUR } from './processes/owner-store.ts'
import type { GatewayRow } from './rows.ts'
import { ownerKey, type ProcessOwner } from './rows.ts'
import { deleteGateway, type GatewayInput, upsertGateway } from './store.ts'

/**
 * Agents that a gateway names in a call although the gateway does not serve them. `records`: ids of traffic records
 * that the gateway began after it ceased to serve the agent of the record.
 */
export type Foreign = { readonly agents: readonly string[]; readonly records?: readonly string[] }

/**
 * Throws `forbidden` when a gateway sends data of agents that the gateway does not serve. The field `refused` of the
 * error lists these agents and records.
 */
export function refuseForeign({ agents, records = [] }: Foreign): void {
  const [agent] = agents
  const [record] = records
  if (agent === undefined && record === undefined) return
  const detail =
    agent === undefined
      ? `This gateway no longer served the agent of record ${record} when the record was started. Records from before that time are accepted for 7 days.`
      : `This gateway does not serve agent ${agent}. Requests of a gateway may name only agents that it serves.`
  throw new ChaperoneError('forbidden', {
    detail,
    extra: { refused: { agents: [...agents], record_ids: [...records] } },
  })
}

/**
 * Checks that gateway processes belong to the owner (gateway or pod), and claims unknown processes for the owner.
 * `isUrgent`: true to accept expired cache entries, and to read the database for unknown processes only. Throws
 * `forbidden` when a process belongs to another owner; the field `refused` lists its id. Throws `rate_limited` when the
 * owner has claimed too many new ids.
 */
export type OwnProcesses = (
  owner: ProcessOwner,
  processIds: readonly string[],
  isUrgent?: boolean,
) => Promise<void>

/**
 * Time in milliseconds for which the cached owner of a gateway process is used without a database read. A process keeps
 * its owner as long as the owner exists. The read is necessary only because it refreshes the database rows of running
 * processes; rows that are not refreshed are deleted.
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

function belongsToAnother(processIds: readonly string[]): ChaperoneError {
  const [first = ''] = processIds
  const detail = `Process ${first.slice(0, 128)} belongs to another gateway or pod. Each process must generate its own id.`
  return new ChaperoneError('forbidden', { detail, extra: { refused: { process_ids: processIds } } })
}

function tooManyNew(): ChaperoneError {
  const detail = `This gateway or pod has used more than ${MAX_NEW_PER_HOUR} new process ids within an hour. Send the request again later.`
  return new ChaperoneError('rate_limited', { detail, retryAfterS: 60 })
}

/** Audit event of a changed gateway. `details` may depend on the stored row. */
export type GatewayEvent = {
  readonly actor: Actor
  readonly type: 'gateway.created' | 'gateway.updated'
  readonly details:
    | Readonly<Record<string, unknown>>
    | ((row: GatewayRow) => Readonly<Record<string, unknown>>)
}

/**
 * Inserts or replaces a gateway in the caller's transaction, with its audit event. A caller that stores the events of
 * many changes in one statement passes a function that collects the events.
 */
export async function saveGateway(
  q: Query,
  row: GatewayInput,
  event: GatewayEvent,
  record: (event: AuditEvent) => unknown = (recorded) => recordEvent(q, recorded),
): Promise<GatewayRow> {
  const saved = await upsertGateway(q, row)
  const details = typeof event.details === 'function' ? event.details(saved) : event.details
  await record({ orgId: row.orgId, actor: event.actor, type: event.type, details })
  return saved
}

/**
 * Removes a gateway in the caller's transaction. The caller records the event. A gateway with a token keeps its row,
 * because the row authenticates the processes that have the token. The row gets the default spec, which denies all
 * requests.
 */
export async function removeGateway(q: Query, row: GatewayRow): Promise<void> {
  if (row.tokenSha256 === null) return deleteGateway(q, row.id)
  const spec = GatewaySpec.parse({})
  await upsertGateway(q, { ...row, spec, source: 'api', managedBy: null, origin: 'built_in' })
}

/** Stores the provider handles that records of a gateway contain, in the transaction of the records. */
export function storeHandles(q: Query, records: readonly TrafficRecord[]): Promise<void> {
  return insertHandles(q, records)
}
