/**
 * Phase of a segment line such as `{"phase":"intent","record":{…}}`. `intent`, `result`: a record before and after its
 * request. `tally`: counters of an aggregate record, whose full form is the last intent with its id. `dropped`: the
 * intent is void, because an aggregate record counts its request or the request was refused. `sequence`, `lost`:
 * sequence numbers of the process whose id is `id`.
 */
export type Phase = 'intent' | 'result' | 'tally' | 'dropped' | 'sequence' | 'lost'

const PREFIX = {
  intent: '{"phase":"intent","record":',
  result: '{"phase":"result","record":',
  tally: '{"phase":"tally","record":',
  dropped: '{"phase":"dropped","record":',
  sequence: '{"phase":"sequence","record":',
  lost: '{"phase":"lost","record":',
} as const satisfies Record<Phase, string>

export function line(phase: Phase, recordJson: string): string {
  return `${PREFIX[phase] + recordJson}}\n`
}

const PHASES = ['result', 'intent', 'tally', 'dropped', 'sequence', 'lost'] as const

export type ParsedLine = {
  readonly phase: Phase
  readonly record: { readonly id: string; readonly seq?: unknown; readonly process_id?: unknown }
  readonly json: string
}

/** Parses a line of a segment. Returns null for a line that a crash or a full disk truncated. */
export function parseLine(raw: string): ParsedLine | null {
  const phase = PHASES.find((each) => raw.startsWith(PREFIX[each]))
  if (phase === undefined || !raw.endsWith('}}')) return null
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
