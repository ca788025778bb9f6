import { type Refusal, refusal } from '../../request/canonical.ts'
import { isRecord } from '../fields/fields.ts'
import { decodeMirrored } from './mirrored-value.ts'

/**
 * Prefix of headers in which a client repeats arguments that the tool's schema marks, e.g. `Mcp-Param-Region: eu-1`.
 */
export const PARAMETER = 'mcp-param-'

/**
 * Compares parameter headers with the arguments of a tool call. Only the tool's schema maps a header to an argument,
 * and a call does not contain the schema. Therefore an argument with the name of the header, at any depth, must have
 * the value of the header. If no argument has this name, some argument must have the value. Clients repeat text,
 * integers and booleans, from the arguments or from objects among them.
 */
export function judgeParameters(
  mirrored: ReadonlyMap<string, readonly string[]>,
  messages: readonly unknown[],
): Refusal | null {
  const headers = [...mirrored].filter(([name]) => name.startsWith(PARAMETER))
  if (headers.length === 0) return null
  const all = messages.map(argumentsOf)
  const wrong = headers.find(
    ([name, values]) => all.length === 0 || !all.every((held) => isHeld(held, name, values)),
  )
  if (wrong === undefined) return null
  return refusal(
    'ambiguous_request',
    `the header ${wrong[0].slice(0, 100)} and the arguments in the body have different values; send the same value in both`,
  )
}

/**
 * Argument values that a header may repeat, as text. `all`: the values of all arguments; `byName`: by folded argument
 * name.
 */
type Held = { readonly all: Set<string>; readonly byName: Map<string, Set<string>> }

function isHeld({ all, byName }: Held, header: string, [value = '', ...others]: readonly string[]): boolean {
  const name = foldName(header.slice(PARAMETER.length))
  const says = decodeMirrored(value)
  if (name === '' || others.length > 0 || says === null) return false
  const own = byName.get(name) ?? all
  return own.has(says) || own.has(asNumber(says))
}

/** Returns the argument values of a tool call. Clients repeat arguments in headers for tool calls only. */
function argumentsOf(message: unknown): Held {
  const held: Held = { all: new Set(), byName: new Map() }
  const params = isRecord(message) && message['method'] === 'tools/call' ? message['params'] : undefined
  collect(isRecord(params) ? params['arguments'] : undefined, held)
  return held
}

/** Collects the values of arguments at any depth. Recursion is safe, because the depth of JSON bodies is limited. */
function collect(value: unknown, held: Held): void {
  if (!isRecord(value)) return
  for (const [key, member] of Object.entries(value)) {
    if (isRecord(member)) collect(member, held)
    else keep(held, foldName(key), textOf(member))
  }
}

/** Records an argument by its folded name (see `foldName`). `text` is null for a value that no header can repeat. */
function keep({ all, byName }: Held, name: string, text: string | null): void {
  const own = byName.get(name) ?? new Set()
  byName.set(name, own)
  if (text === null) return
  own.add(text)
  all.add(text)
}

/**
 * Returns an argument value as text; null if no header can repeat it. Numbers get a mark, so that the text `42`
 * differs from the number 42, which a header may also spell `42.0`.
 */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value.startsWith(NUMBER) ? null : value
  if (typeof value === 'boolean') return String(value)
  return Number.isSafeInteger(value) ? `${NUMBER}${String(value)}` : null
}

const NUMBER = '\u0000'

function asNumber(text: string): string {
  return /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/.test(text) ? NUMBER + String(Number(text)) : text
}

/** Returns the same text for spellings such as `Data-Region` and `data_region`. */
function foldName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}
