import type { TrafficRecord } from '../../../core/record.ts'
import { JsonBytes } from './json-bytes.ts'

/** Returns the record as JSON, in the field order of the schema and equivalent to JSON.stringify. */
export function recordJson(record: TrafficRecord): string {
  return encodeRecord(record).toString()
}

/** One buffer for all records, because callers copy the bytes of a record before the next record is encoded. */
const json = new JsonBytes()
const UTF8 = new TextEncoder()

/** Returns the record as JSON in UTF-8, with the same text as `recordJson`. The bytes are valid until the next call. */
export function encodeRecord(record: TrafficRecord): Buffer {
  const { process, rule, after } = partsOf(record)
  json.begin()
  json.raw('{"id":')
  json.string(record.id)
  json.bytes(process)
  json.number(record.seq)
  json.raw(',"time":')
  json.string(record.time)
  json.bytes(rule)
  json.nullable(record.path)
  json.raw(detailsText(record))
  json.raw(handleText(record))
  json.raw(',"status":')
  if (record.status === null) json.raw('null')
  else json.number(record.status)
  json.raw(',"error_type":')
  json.nullable(record.error_type)
  json.raw(',"latency_ms":')
  json.number(record.latency_ms)
  json.raw(',"overhead_ms":')
  json.number(record.overhead_ms)
  json.raw(',"bytes_in":')
  json.number(record.bytes_in)
  json.raw(',"bytes_out":')
  json.number(record.bytes_out)
  json.bytes(after)
  json.raw(credentialText(record))
  json.raw(auditText(record))
  json.raw(refusalsText(record))
  json.raw('}')
  return json.end()
}

/**
 * Cached parts of a record, as JSON in UTF-8, for one combination of fields that many requests share. Other fields are
 * written between them.
 */
type Parts = {
  readonly of: TrafficRecord
  readonly process: Uint8Array
  readonly rule: Uint8Array
  readonly after: Uint8Array
}

/**
 * Cached parts by the reason of the record, which mostly names the permission or policy and the action. The number of
 * reasons is limited, because some contain hosts.
 */
const known = new Map<string | null, Parts[]>()
const MAX_REASONS = 128
/**
 * Maximum number of cached parts for one reason. The parts differ by agent, and by the action before and after the body
 * was read.
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

function processText(record: TrafficRecord): Uint8Array {
  return UTF8.encode(`,"process_id":${text(record.process_id)},"seq":`)
}

function ruleText(record: TrafficRecord): Uint8Array {
  return UTF8.encode(
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

function afterText(record: TrafficRecord): Uint8Array {
  return UTF8.encode(
    `,"permission":${nullable(record.permission)},"policies":${JSON.stringify(record.policies)},"snapshot_version":${record.snapshot_version},"transport":${text(record.transport)}${whyText(record)}`,
  )
}

/**
 * Returns the fields about several actions and function tools; an empty text for other requests. The result is not
 * cached, because targets differ between requests.
 */
function detailsText({ action_details: details, function_tools: tools }: TrafficRecord): string {
  const listed =
    details === null || details === undefined ? '' : `,"action_details":${JSON.stringify(details)}`
  return tools === null || tools === undefined ? listed : `${listed},"function_tools":${tools}`
}

/** Returns the fields about handles; empty for most requests, which neither name nor receive handles. */
function handleText({ handle, given }: TrafficRecord): string {
  const named = handle === null || handle === undefined ? '' : `,"handle":"${handle}"`
  return given === null || given === undefined ? named : `${named},"given":${JSON.stringify(given)}`
}

function whyText({ why }: TrafficRecord): string {
  return why === null || why === undefined ? '' : `,"why":${JSON.stringify(why)}`
}

const credentials = new WeakMap<object, string>()

/** Returns the field `credential`. Many records share one credential object, so its text is cached. */
function credentialText({ credential }: TrafficRecord): string {
  if (credential === null || credential === undefined) return ''
  const known = credentials.get(credential)
  if (known !== undefined) return known
  const made = `,"credential":${JSON.stringify(credential)}`
  credentials.set(credential, made)
  return made
}

/**
 * Returns the field `audit`, which only refused and killed requests have. The data differ for each request, so they are
 * not cached.
 */
function auditText({ audit }: TrafficRecord): string {
  return audit === null || audit === undefined ? '' : `,"audit":${JSON.stringify(audit)}`
}

function refusalsText({ refusals }: TrafficRecord): string {
  return refusals === null || refusals === undefined ? '' : `,"refusals":${JSON.stringify(refusals)}`
}

/**
 * Matches all characters that `JSON.stringify` escapes, among them lone surrogates. Other matches (surrogate pairs,
 * U+2028, U+2029) only cost time.
 */
const NEEDS_ESCAPE = /[\u0000-\u001f"\\\ud800-\udfff\u2028\u2029]/

function text(value: string): string {
  return NEEDS_ESCAPE.test(value) ? JSON.stringify(value) : `"${value}"`
}

function nullable(value: string | null): string {
  return value === null ? 'null' : text(value)
}
