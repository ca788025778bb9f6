import type { TrafficRecord } from '../../../core/record.ts'

/**
 * Returns the record as JSON, in the field order of the schema and equivalent to JSON.stringify. The function joins
 * texts, because it runs twice for every request and most texts are cached. A join makes one contiguous string: 1.15 us
 * instead of 1.35 us for concatenation, and half of its memory.
 */
export function recordJson(record: TrafficRecord): string {
  const { process, rule, after } = partsOf(record)
  return [
    '{"id":',
    text(record.id),
    process,
    record.seq,
    ',"time":"',
    record.time,
    '"',
    rule,
    nullable(record.path),
    handleText(record),
    ',"status":',
    record.status ?? 'null',
    ',"error_type":',
    nullable(record.error_type),
    ',"latency_ms":',
    number(record.latency_ms),
    ',"overhead_ms":',
    number(record.overhead_ms),
    ',"bytes_in":',
    record.bytes_in,
    ',"bytes_out":',
    record.bytes_out,
    after,
    auditText(record),
    refusalsText(record),
    '}',
  ].join('')
}

/**
 * Returns the string as one contiguous piece of memory. V8 keeps a concatenated string as a tree of its parts until it
 * is read.
 */
function flat(json: string): string {
  FLATTENS.test(json)
  return json
}

/** Expression that fails at the first character. V8 flattens a string before it matches an expression. */
const FLATTENS = /^\0/

/**
 * Cached texts of a record for one combination of fields that many requests share. Other fields are written between
 * them.
 */
type Parts = {
  readonly of: TrafficRecord
  readonly process: string
  readonly rule: string
  readonly after: string
}

/**
 * Cached texts by reason, which names permission or policy and action. Their number is limited, because some reasons
 * contain hosts.
 */
const known = new Map<string | null, Parts[]>()
const MAX_REASONS = 128
/**
 * Limit of cached texts for one reason. The texts differ by agent, and by the action before and after the body was
 * read.
 */
const MAX_PARTS = 16

function partsOf(record: TrafficRecord): Parts {
  const candidates = known.get(record.reason) ?? newReason(record.reason)
  for (const parts of candidates) {
    if (isSameRule(parts.of, record) && isSameAnswer(parts.of, record)) return parts
  }
  const parts: Parts = {
    of: record,
    process: processText(record),
    rule: ruleText(record),
    after: afterText(record),
  }
  if (candidates.length >= MAX_PARTS) candidates.length = 0
  candidates.push(parts)
  return parts
}

function newReason(reason: string | null): Parts[] {
  const parts: Parts[] = []
  if (known.size >= MAX_REASONS) known.clear()
  known.set(reason, parts)
  return parts
}

function isSameRule(a: TrafficRecord, b: TrafficRecord): boolean {
  return (
    a.action_type === b.action_type &&
    a.agent === b.agent &&
    a.instance === b.instance &&
    a.connector === b.connector &&
    a.gateway === b.gateway &&
    a.process_id === b.process_id &&
    a.decision === b.decision &&
    a.would === b.would &&
    a.permission === b.permission &&
    a.snapshot_version === b.snapshot_version &&
    a.why === b.why &&
    isSameList(a.policies, b.policies) &&
    isSameList(a.candidates ?? NONE, b.candidates ?? NONE) &&
    isSameList(a.actions ?? NONE, b.actions ?? NONE) &&
    isSameList(a.effects ?? NONE, b.effects ?? NONE) &&
    a.action_count === b.action_count
  )
}

function isSameAnswer(a: TrafficRecord, b: TrafficRecord): boolean {
  return (
    a.note === b.note &&
    a.approval_id === b.approval_id &&
    a.act_id === b.act_id &&
    a.method === b.method &&
    a.host === b.host &&
    a.transport === b.transport
  )
}

const NONE: readonly string[] = []

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  if (a === b) return true
  if (a.length !== b.length) return false
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false
  return true
}

function processText(record: TrafficRecord): string {
  return flat(`,"process_id":${text(record.process_id)},"seq":`)
}

function ruleText(record: TrafficRecord): string {
  return flat(
    `,"gateway":${text(record.gateway)},"agent":${nullable(record.agent)}${instanceTextOf(record)},"connector":${nullable(record.connector)},"action_type":${nullable(record.action_type)}${candidatesText(record)}${actionsText(record)}${effectsText(record)},"decision":"${record.decision}","would":${nullable(record.would)},"note":${nullable(record.note)},"reason":${nullable(record.reason)},"approval_id":${nullable(record.approval_id)},"act_id":${nullable(record.act_id)},"method":${text(record.method)},"host":${nullable(record.host)},"path":`,
  )
}

function instanceTextOf({ instance }: TrafficRecord): string {
  return instance === null || instance === undefined ? '' : `,"instance":${JSON.stringify(instance)}`
}

function candidatesText({ candidates }: TrafficRecord): string {
  return candidates === null || candidates === undefined ? '' : `,"candidates":${JSON.stringify(candidates)}`
}

function effectsText({ effects }: TrafficRecord): string {
  return effects === null || effects === undefined ? '' : `,"effects":${JSON.stringify(effects)}`
}

function actionsText({ actions, action_count }: TrafficRecord): string {
  const names = actions === null || actions === undefined ? '' : `,"actions":${JSON.stringify(actions)}`
  return action_count === null || action_count === undefined
    ? names
    : `${names},"action_count":${action_count}`
}

function afterText(record: TrafficRecord): string {
  return flat(
    `,"permission":${nullable(record.permission)},"policies":${JSON.stringify(record.policies)},"snapshot_version":${record.snapshot_version},"transport":${text(record.transport)}${whyText(record)}`,
  )
}

/** Returns the fields about handles; empty for most requests, which neither name nor receive handles. */
function handleText({ handle, given }: TrafficRecord): string {
  const named = handle === null || handle === undefined ? '' : `,"handle":"${handle}"`
  return given === null || given === undefined ? named : `${named},"given":${JSON.stringify(given)}`
}

function whyText({ why }: TrafficRecord): string {
  return why === null || why === undefined ? '' : `,"why":${JSON.stringify(why)}`
}

/** Returns the audit data, which only refusals have. The data differ for each request, so they are not cached. */
function auditText({ audit }: TrafficRecord): string {
  return audit === null || audit === undefined ? '' : `,"audit":${JSON.stringify(audit)}`
}

function refusalsText({ refusals }: TrafficRecord): string {
  return refusals === null || refusals === undefined ? '' : `,"refusals":${JSON.stringify(refusals)}`
}

/** Matches characters that JSON must escape, and lone surrogates, which have no UTF-8 form. */
const NEEDS_ESCAPE = /[\u0000-\u001f"\\\ud800-\udfff\u2028\u2029]/

function text(value: string): string {
  return NEEDS_ESCAPE.test(value) ? JSON.stringify(value) : `"${value}"`
}

function nullable(value: string | null): string {
  return value === null ? 'null' : text(value)
}

/**
 * Returns the number as JSON. NaN and infinities have no JSON form; they become 0, which keeps the record readable.
 * Times with three decimals are written as two integers, because V8 prints an integer in less than half of the time.
 */
function number(value: number): string {
  const thousandths = Math.round(value * 1000)
  const isExact = thousandths >= 0 && thousandths < MAX_EXACT && thousandths / 1000 === value
  if (!isExact) return Number.isFinite(value) ? String(value) : '0'
  const whole = Math.floor(thousandths / 1000)
  const rest = thousandths - whole * 1000
  return rest === 0 ? `${whole}` : `${whole}.${DECIMALS[rest]}`
}

/** Bound within which the division of an integer by 1,000 has the three decimals of the integer. */
const MAX_EXACT = 2 ** 31

/** Decimals of thousandths without trailing zeros: `5` for 500. */
const DECIMALS = Array.from({ length: 1000 }, (_, at) => String(at).padStart(3, '0').replace(/0+$/, ''))
