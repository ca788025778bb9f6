import type { TrafficRecord } from '../../../core/record.ts'
import { splitAuthority, withoutBrackets } from '../../../core/request/authority-text.ts'
import type { Refusal, RefusalRow } from '../../../core/state/refusal-windows.ts'
import { sha256Hex } from '../../../runtime/sha256.ts'
import { createLru } from '../../collections/lru.ts'
import { primaryAction } from '../classification/primary-action.ts'
import type { Exchange } from '../exchange.ts'
import { dropIntent, hasIntent, identifyRecord } from '../phases.ts'
import type { AggregateRow, PipelinePorts, RefusalPort } from '../ports.ts'
import { buildRecord } from '../record/record.ts'
import { isEventful } from '../record/record-audit.ts'
import { createRecordWindows, UNOWNED } from '../record/record-windows.ts'
import { addToRow, type RefusalRecord, recordOfRow } from '../record/refusal-record.ts'

export type RefusalsDeps = Pick<PipelinePorts, 'journal' | 'events' | 'clock' | 'newId'> & {
  readonly windowMs?: number
  /** Number of an agent's refusals that get a record of their own in each window; 60 when absent. */
  readonly whole?: number
  /** Returns the number of processes that serve an agent and share the limits. One process when absent. */
  readonly peers?: { processesOf(agent: string): number }
}

export type Refusals = RefusalPort & {
  /** Closes the windows and writes open aggregate records. */
  close(): void
}

/** Reason of a request whose client disconnected before a response. */
const LEFT = 'left'
/**
 * Maximum number of cached record ids. Each is the id of the first refusal of an agent at a host that no connector
 * owns.
 */
const REMEMBERED_HOSTS = 10_000

/**
 * Limits the number of records of refusals. The first refusals of an agent in a minute, and the first of each kind,
 * have a record of their own; one aggregate record counts all others. For hosts that no connector owns, the first
 * refusal of each host in an hour has a record.
 */
export function createRefusals(deps: RefusalsDeps): Refusals {
  const { events, clock, newId, journal } = deps
  let isClosed = false
  const windows = createRecordWindows<RefusalRecord>({
    hash: hashOf,
    monotonicMs: clock.monotonicMs,
    ...(deps.windowMs === undefined ? {} : { windowMs: deps.windowMs }),
    ...(deps.whole === undefined ? {} : { whole: deps.whole }),
    processesOf: (agent) => deps.peers?.processesOf(agent) ?? 1,
    open: (): RefusalRecord => {
      const row = { id: newId('record'), seq: journal.nextSeq() }
      return { ...row, common: null, actId: null, revision: 0, isEnded: false }
    },
    onEnd(row) {
      row.item.isEnded = true
      writeRow(deps, row)
    },
  })
  /** Record ids of the first refusals, by agent and host that no connector owns. */
  const firstOfHost = createLru<string>(REMEMBERED_HOSTS)

  function assign(exchange: Exchange): void {
    if (exchange.refusalRow !== undefined) return
    if (isClosed || !isCountable(exchange)) {
      exchange.recordId ??= newId('record')
      return
    }
    const at = { nowMs: clock.monotonicMs(), time: timeOf(exchange) }
    const agent = exchange.agent?.name ?? ''
    const refusal = refusalOf(exchange)
    const row = windows.admit(agent, refusal, at)
    if (row === null) exchange.recordId ??= newId('record')
    else moveTo(row, exchange, deps)
    if (refusal.reason === UNOWNED) nameFirst(exchange, JSON.stringify([agent, refusal.target]))
  }

  /**
   * Makes the response name the first record of the host. The aggregate record cannot be found yet, because the gateway
   * only writes it at the end of the hour.
   */
  function nameFirst(exchange: Exchange, host: string): void {
    const { recordId, refusalRow } = exchange
    if (refusalRow !== undefined) exchange.recordId = firstOfHost.get(host) ?? recordId
    else if (recordId !== undefined) firstOfHost.set(host, recordId)
  }

  return {
    assign,
    finished(exchange) {
      if (exchange.recordId === undefined && hasLeft(exchange)) assign(exchange)
      const row = exchange.refusalRow
      if (row === undefined) return false
      const record = buildRecord(identifyRecord(exchange, deps), deps)
      events.counted(exchange, record)
      const isLate = row.item.isEnded && row.item.common !== null
      addToRow(row.item, record)
      if (!row.item.isEnded) journal.updateAggregate(aggregateRow(row))
      else if (!isLate) writeRow(deps, row)
      return true
    },
    close() {
      isClosed = true
      windows.close()
    },
  }
}

/** Assigns the exchange to an aggregate record and drops its own record. */
function moveTo(row: RefusalRow<RefusalRecord>, exchange: Exchange, { journal, newId }: RefusalsDeps): void {
  if (hasIntent(exchange)) {
    journal.drop({ id: exchange.recordId, seq: exchange.intentSeq }, exchange.intent)
    dropIntent(exchange)
  }
  exchange.recordId = row.item.id
  exchange.intentSeq = row.item.seq
  exchange.refusalRow = row
  if (isEventful(exchange)) row.item.actId ??= newId('actionRequest')
}

/**
 * Writes an aggregate record that counts no further refusals. When none of its requests is finished, the record is
 * written when the first request finishes.
 */
function writeRow({ journal, events }: RefusalsDeps, row: RefusalRow<RefusalRecord>): void {
  const record = recordOfRow(row)
  if (record === null) return
  const json = Buffer.from(JSON.stringify(record))
  events.rowFinished(record, json)
  journal.result(record, json, undefined)
}

/**
 * Returns true when an aggregate record may count the refusal. Requests that were forwarded or held, actions that the
 * control plane ordered, and requests of the gateway itself have a record of their own.
 */
function isCountable(exchange: Exchange): boolean {
  const { outcome, transport, intent, holdId, approvalId, isWaiting } = exchange
  if (transport === 'order' || transport === 'system') return false
  if (holdId !== undefined || approvalId !== undefined || isWaiting === true) return false
  if (outcome.denyReason === null) return hasLeft(exchange)
  if (outcome.denyReason === 'approval_denied' || outcome.denyReason === 'approval_expired') return false
  // The address check runs after the intent is written, but before a connection is opened.
  return intent === undefined || (outcome.denyReason === 'address' && !exchange.isRepeated)
}

/** Returns true when the client disconnected before the request was allowed. */
function hasLeft({ outcome, decision, intent, reply, isWaiting, holdId, approvalId }: Exchange): boolean {
  if (outcome.denyReason !== null || reply.isStarted || intent !== undefined) return false
  if (isWaiting === true || holdId !== undefined || approvalId !== undefined) return false
  return decision === undefined || decision.verdict === 'deny'
}

function refusalOf(exchange: Exchange): Refusal {
  const { outcome, decision, request, raw } = exchange
  const action = primaryAction(exchange)
  const host = request?.host ?? raw.sources.connectAuthority ?? raw.sources.sni ?? ''
  if (outcome.denyReason === UNOWNED) {
    // Refusals are grouped by host, independent of port and protocol.
    const target = request?.host ?? withoutBrackets(splitAuthority(host).host)
    return { action: null, target, rule: null, reason: UNOWNED, isJudged: true }
  }
  return {
    action: action?.type ?? null,
    target: action?.resource.target ?? host,
    rule: decision === undefined ? outcome.errorCode : [decision.permission, ...decision.policies].join(' '),
    reason: outcome.denyReason ?? outcome.errorCode ?? LEFT,
    isJudged: isEventful(exchange),
  }
}

function timeOf(exchange: Exchange): string {
  exchange.time ??= new Date(exchange.timeMs).toISOString()
  return exchange.time
}

/**
 * Returns a 52-bit hash. A cryptographic hash prevents an agent from choosing a target that has the hash of another
 * target.
 */
function hashOf(text: string): number {
  return Number.parseInt(sha256Hex(text).slice(0, 13), 16)
}

const aggregateRows = new WeakMap<RefusalRecord, AggregateRow>()

function aggregateRow(row: RefusalRow<RefusalRecord>): AggregateRow {
  const known = aggregateRows.get(row.item)
  if (known !== undefined) return known
  const made: AggregateRow = {
    id: row.item.id,
    json: () => JSON.stringify(recordOfRow(row) as TrafficRecord),
    tally: () => JSON.stringify({ id: row.item.id, refusals: { ...row.tally, targets: undefined } }),
    get revision() {
      return row.item.revision + row.tally.targets.length
    },
  }
  aggregateRows.set(row.item, made)
  return made
}
