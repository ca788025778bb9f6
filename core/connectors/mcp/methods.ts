/**
 * Methods other than `tools/list` that have the effect `read`. A subscription changes only the notifications that the
 * client receives. The effect of `tools/call` depends on the tool.
 */
export const READS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'subscriptions/listen',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'tasks/get',
  'tasks/list',
  'tasks/result',
])

/** All methods of MCP clients and servers in any revision of the protocol. */
export const KNOWN_METHODS: ReadonlySet<string> = new Set([
  ...READS,
  ...['tools/list', 'tools/call', 'logging/setLevel', 'tasks/cancel', 'tasks/update'],
  ...['roots/list', 'sampling/createMessage', 'elicitation/create'],
  ...[
    'initialized',
    'cancelled',
    'progress',
    'message',
    'roots/list_changed',
    'tools/list_changed',
    'prompts/list_changed',
    'resources/list_changed',
    'resources/updated',
    'elicitation/complete',
    'subscriptions/acknowledged',
    'tasks/status',
  ].map((name) => `notifications/${name}`),
])

/**
 * Last segments of `mcp.rpc.*` action types that are not methods. A method of the same name would have the type of
 * another action.
 */
const RESERVED = ['unknown', 'response', 'stream_open', 'session_end']

const BY_LETTERS: ReadonlyMap<string, string | null> = new Map([
  ...[...KNOWN_METHODS].map((method) => [lettersOf(method), method] as const),
  ...RESERVED.map((name) => [lettersOf(name), null] as const),
])

/** Matches method names: `segment(/segment)*` of letters, digits, `_` and `-`. */
const METHOD = /^[A-Za-z0-9_-]+(?:\/[A-Za-z0-9_-]+)*$/

/**
 * True for a method name whose action type cannot collide with that of another method. `tools_call`, `Resources/Read`
 * and `stream/open` collide with names that have a meaning.
 */
export function isMethodName(text: string): boolean {
  if (!METHOD.test(text)) return false
  const known = BY_LETTERS.get(lettersOf(text))
  return known === undefined || known === text
}

/**
 * Returns the known method that a lenient server may read in this text: the same letters and digits with any
 * separators.
 */
export function resembledMethod(text: string): string | null {
  return BY_LETTERS.get(lettersOf(text)) ?? null
}

function lettersOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
}
