import type { Logger } from 'pino'
import { percent } from '../../../core/decision/audit-details.ts'
import { isKnownDecision, type TrafficRecord } from '../../../core/record.ts'
import type { RecordsBody } from '../../../core/wire/gateway/records.ts'
import type { Db, Query } from '../../db/query.ts'
import { findAgentIds } from '../agents/rows.ts'
import { recordActivity } from '../agents/service.ts'
import { agentActor } from '../audit/actor.ts'
import { type AuditEvent, recordEvents } from '../audit/events.ts'
import { findActionOwners } from '../audit/rows.ts'
import { foreignAgents, getGateway, leaseMsOf, ownerKey } from '../gateways/rows.ts'
import { refuseForeign, storeHandles } from '../gateways/service.ts'
import { findHoldActions, insertLostRecords, lockProcessRecords } from './ingest-store.ts'
import { createReportedRefusals } from './reported-refusals.ts'
import { insertTraffic } from './store.ts'

/**
 * The process that uploads records. `sidecar` is set for a process in a tenant's pod, which may report records of its
 * own agent only.
 */
export type Uploader = {
  readonly gatewayId: string
  readonly name: string
  readonly processId: string
  readonly sidecar: { readonly agent: { readonly name: string }; readonly podUid: string } | null
}

export type Records = {
  /**
   * Stores a batch in one transaction. Skips records that an earlier upload stored. Returns the ids of all records of
   * the batch that are stored. Throws `forbidden` when the batch contains agents of another gateway, or records that
   * began after the gateway stopped serving their agents.
   */
  ingest(gateway: Uploader, body: RecordsBody): Promise<string[]>
}

const SHOWN_RANGES = 10

export function createRecords(deps: { db: Db; orgId: string; log: Logger }): Records {
  const { db, orgId, log } = deps
  const refusals = createReportedRefusals()
  return {
    async ingest(gateway, { records, lost }) {
      const owner = { name: gateway.name, agent: gateway.sidecar?.agent.name ?? null }
      // The uploader's token determines the gateway and the pod of a record. The names inside the record are not
      // trusted.
      const own = records.map((record) => ({ ...record, ...authenticatedFields(gateway, record) }))
      const stored = await db.tx(async (q) => {
        await lockProcessRecords(q, gateway.processId)
        if (gateway.sidecar === null) await refuseForeignAgents(q, gateway, own)
        const believed = await withoutForeign(q, refusals.bounded(owner, uniqueById(own)))
        const added = await insertTraffic(q, orgId, believed)
        const fresh = believed.filter((record) => added.has(record.id))
        await appendEvents(q, orgId, fresh)
        await storeHandles(q, fresh)
        await insertLostRecords(q, ownerKey(gateway), lost)
        await recordActivity(q, [...new Set(fresh.flatMap(({ agent }) => (agent === null ? [] : [agent])))])
        return fresh
      })
      refusals.stored(owner, stored)
      if (lost.length > 0) {
        const shown = { ranges: lost.length, lost: lost.slice(0, SHOWN_RANGES) }
        log.error({ gateway: gateway.name, ...shown }, 'records were lost at the gateway')
      }
      return records.map((record) => record.id)
    },
  }
}

/**
 * Returns the gateway and the instance to store with a record. Keeps the instance of the record only if it is in the
 * uploader's pod.
 */
function authenticatedFields({ name: gateway, sidecar }: Uploader, { instance }: TrafficRecord) {
  const isOwn = instance != null && instance.pod_uid === sidecar?.podUid
  return { gateway, instance: isOwn ? instance : null }
}

/**
 * Throws for records of agents of another gateway. Otherwise a gateway could insert records into the traffic log of
 * another Gateway or namespace.
 */
async function refuseForeignAgents(q: Query, gateway: Uploader, records: readonly TrafficRecord[]) {
  const named = defined(records.map(({ agent }) => agent))
  const foreign = await foreignAgents(q, gateway, named)
  if (foreign.length === 0) return
  const leaseMs = leaseMsOf((await getGateway(q, gateway.gatewayId))?.spec)
  // A gateway without a connection to its control plane serves its agents until the end of its lease. Therefore, the
  // duration of the lease is added to the time at which the gateway ceased to serve the agent.
  const endOf = new Map(
    foreign.map(({ name, servedUntil }) => [name, servedUntil === null ? null : servedUntil + leaseMs]),
  )
  refuseForeign({
    agents: foreign.flatMap(({ name, servedUntil }) => (servedUntil === null ? [name] : [])),
    records: records.filter((record) => isTooNew(record, endOf)).map(({ id }) => id),
  })
}

function isTooNew({ agent, time }: TrafficRecord, endOf: ReadonlyMap<string, number | null>): boolean {
  const end = endOf.get(agent ?? '') ?? null
  return end !== null && Date.parse(time) > end
}

/** Removes from the records the action ids and approval ids that belong to another agent. */
async function withoutForeign(
  q: Query,
  records: readonly TrafficRecord[],
): Promise<readonly TrafficRecord[]> {
  const acts = defined(records.map(({ act_id }) => act_id))
  const approvals = defined(records.map(({ approval_id }) => approval_id))
  if (acts.length === 0 && approvals.length === 0) return records
  const owners = await findActionOwners(q, acts)
  const holds = await findHoldActions(q, approvals)
  const agents = await findAgentIds(q, defined(records.map(({ agent }) => agent)))
  return records.map((record) => {
    const { agent, act_id, approval_id } = record
    const owner = owners.get(act_id ?? '') ?? null
    const isOwnAction = owner === null || owner === agents.get(agent ?? '')
    const isOwnHold = approval_id === null || holds.get(approval_id)?.agent === agent
    return { ...record, act_id: isOwnAction ? act_id : null, approval_id: isOwnHold ? approval_id : null }
  })
}

async function appendEvents(q: Query, orgId: string, records: readonly TrafficRecord[]): Promise<void> {
  // Some records are of actions that a replica ordered a gateway to execute. Their upload causes no audit events,
  // because the replica that sent the order writes the events of the result.
  const eventful = records.filter((record) => record.act_id !== null && record.transport !== 'order')
  if (eventful.length === 0) return
  const agents = await findAgentIds(q, defined(eventful.map((record) => record.agent)))
  const actions = await findHoldActions(q, defined(eventful.map((record) => record.approval_id)))
  const events = eventful.flatMap((record) => {
    const chain = {
      orgId,
      actor: agentActor(agents.get(record.agent ?? ''), `gateway:${record.gateway}`),
      actionRequestId: actions.get(record.approval_id ?? '')?.act ?? record.act_id,
    }
    return eventsOf(record).map((event) => ({ ...chain, ...event }))
  })
  if (events.length > 0) await recordEvents(q, events)
}

type Event = Pick<AuditEvent, 'type' | 'details'>

/**
 * Returns the audit events of a request that was denied, stopped by a kill switch, or executed after an approval.
 * Other requests appear in the traffic log only.
 */
function eventsOf(record: TrafficRecord): readonly Event[] {
  const wasHeld = record.approval_id !== null
  // The event `action.requested` of a held request was written when the hold began. An aggregate record causes no such
  // event, because the record stands for many requests.
  const isAlone = wasHeld || isRow(record)
  if (!isKnownDecision(record.decision)) return isAlone ? [] : [requestedOfNewer(record)]
  if (wasRefused(record)) return isAlone ? [denied(record)] : [requested(record), denied(record)]
  return wasHeld && record.decision === 'ALLOW' ? [executed(record)] : []
}

function wasRefused({ decision, reason }: TrafficRecord): boolean {
  return decision === 'DENY' || (decision === 'ALLOW' && reason === 'kill_switch')
}

function requested(record: TrafficRecord): Event {
  const details = { ...(record.audit?.requested ?? unstated(record)), ...requestOf(record) }
  return { type: 'action.requested', details }
}

/**
 * Returns the event of a request whose decision does not exist in this version of the control plane. For such a
 * request, neither `action.denied` nor `action.executed` would be true.
 */
function requestedOfNewer(record: TrafficRecord): Event {
  const { type, details } = requested(record)
  const { decision, reason } = record
  return { type, details: { ...details, decision, reason } }
}

/** Returns defaults for fields that gateways of earlier versions do not send. */
function unstated({ connector, why }: TrafficRecord): Record<string, unknown> {
  const resource = { provider: connector, target: null, environment: null }
  return { resource, parameters: {}, risk_score: riskOf(why), risk_hints: {} }
}

function denied(record: TrafficRecord): Event {
  const { audit, why, approval_id, refusals } = record
  const reason = audit?.reason ?? why?.reason ?? record.reason
  const details = {
    ...requestOf(record),
    decision: 'deny',
    reason: isRow(record) ? [record.note, reason].filter(Boolean).join(': ') : reason,
    ...(isRow(record) ? { refusals } : {}),
    matched_policy: audit?.matched_policy ?? null,
    matched_rule: audit?.matched_rule ?? null,
    risk_score: audit === null || audit === undefined ? riskOf(why) : audit.risk_score,
    approval_id,
  }
  return { type: 'action.denied', details }
}

function isRow({ refusals }: TrafficRecord): boolean {
  return refusals !== null && refusals !== undefined
}

function riskOf(why: TrafficRecord['why']): number | null {
  return why === null || why === undefined ? null : percent(why.risk_score)
}

function executed(record: TrafficRecord): Event {
  const { status, error_type, latency_ms, approval_id, credential } = record
  const isFailed =
    status === null || status >= 500 || ['timeout', 'connect', 'tls'].includes(error_type ?? '')
  return {
    type: isFailed ? 'action.execution_failed' : 'action.executed',
    details: {
      ...requestOf(record),
      status,
      error_type,
      latency_ms,
      approval_id,
      ...(credential === null || credential === undefined ? {} : { credential }),
    },
  }
}

function requestOf(record: TrafficRecord): Record<string, unknown> {
  const { id, action_type, method, host, path, gateway } = record
  return { action_type, method, host, path, gateway, record_id: id }
}

function uniqueById(records: readonly TrafficRecord[]): TrafficRecord[] {
  return [...new Map(records.map((record) => [record.id, record])).values()]
}

function defined(values: ReadonlyArray<string | null>): string[] {
  return [...new Set(values.filter((value) => value !== null))]
}
