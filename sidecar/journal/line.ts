import type { TrafficRecord } from '../../core/record.ts'

/** `{"phase":"intent","record":{…}}`: one line of a segment. Written by hand, because this is on every request's path. */
export type Phase = 'intent' | 'result'

const PREFIX = {
  intent: '{"phase":"intent","record":',
  result: '{"phase":"result","record":',
} as const satisfies Record<Phase, string>

/** What JSON must escape, and lone surrogates, which have no UTF-8 form. */
const NEEDS_ESCAPE = /[\u0000-\u001f"\\\ud800-\udfff\u2028\u2029]/

export function line(phase: Phase, recordJson: string): string {
  return `${PREFIX[phase] + recordJson}}\n`
}

/** The record as JSON, fields in the schema's order; byte for byte what JSON.stringify would mean. */
export function recordJson(record: TrafficRecord): string {
  return `{"id":${text(record.id)},"process_id":${text(record.process_id)},"seq":${record.seq},"time":${text(record.time)},"gateway":${text(record.gateway)},"agent":${nullable(record.agent)},"connector":${nullable(record.connector)},"action_type":${nullable(record.action_type)},"decision":"${record.decision}","would":${nullable(record.would)},"note":${nullable(record.note)},"reason":${nullable(record.reason)},"approval_id":${nullable(record.approval_id)},"act_id":${nullable(record.act_id)},"method":${text(record.method)},"host":${nullable(record.host)},"path":${nullable(record.path)},"status":${record.status},"error_type":${nullable(record.error_type)},"latency_ms":${number(record.latency_ms)},"overhead_ms":${number(record.overhead_ms)},"bytes_in":${record.bytes_in},"bytes_out":${record.bytes_out},"permission":${nullable(record.permission)},"policies":${list(record.policies)},"snapshot_version":${record.snapshot_version},"transport":${text(record.transport)}}`
}

/**
 * The same string as one piece of memory. What was put together piece by piece stays a tree of its pieces until it is
 * read, and a record waits for its upload long enough for the collector to copy the whole tree, twice.
 */
export function flat(json: string): string {
  FLATTENS.test(json)
  return json
}

/** Fails at the first character; V8 makes one piece of a string before it matches it. */
const FLATTENS = /^\0/

function text(value: string): string {
  return NEEDS_ESCAPE.test(value) ? JSON.stringify(value) : `"${value}"`
}

function nullable(value: string | null): string {
  return value === null ? 'null' : text(value)
}

/** NaN and infinities have no JSON form; a broken measurement must not make the record unreadable. */
function number(value: number): string {
  return Number.isFinite(value) ? String(value) : '0'
}

function list(values: readonly string[]): string {
  return values.length === 0 ? '[]' : JSON.stringify(values)
}

export type ParsedLine = {
  readonly phase: Phase
  readonly record: { readonly id: string }
  readonly json: string
}

/** Null for a line that a crash or a full disk cut off. */
export function parseLine(raw: string): ParsedLine | null {
  const phase = raw.startsWith(PREFIX.result) ? 'result' : raw.startsWith(PREFIX.intent) ? 'intent' : null
  if (phase === null || !raw.endsWith('}}')) return null
  const json = raw.slice(PREFIX[phase].length, -1)
  try {
    const record: unknown = JSON.parse(json)
    return hasId(record) ? { phase, record, json } : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

function hasId(value: unknown): value is { readonly id: string } {
  return typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string'
}
