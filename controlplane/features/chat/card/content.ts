import { sha256 } from '../../../../runtime/sha256.ts'

/**
 * Returns the SHA-256 of the visible content of a message: blocks, attachments and files. The hash of the sent message
 * equals the hash of the message that the provider returns, although the provider adds ids and defaults, escapes `&`,
 * `<` and `>`, splits texts and replaces emoji by names.
 */
export function contentHash(message: Readonly<Record<string, unknown>>): Buffer {
  const shown = { blocks: message['blocks'], attachments: message['attachments'], files: message['files'] }
  return sha256(JSON.stringify(canonical(shown)))
}

/** Fields without an effect on the visible card: ids that the provider adds, and flags. */
const IGNORED: ReadonlySet<string> = new Set(['block_id', 'emoji', 'verbatim'])
const MAX_DEPTH = 32

function canonical(value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) return 'nested too deeply'
  if (typeof value === 'string') return unescaped(value)
  if (Array.isArray(value)) return joinedTexts(value.map((each) => canonical(each, depth + 1)))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
    .filter(([key]) => !IGNORED.has(key))
    .map(([key, inner]) => [key, canonical(inner, depth + 1)] as const)
    .filter(([, inner]) => !isDefault(inner))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries)
}

/** Decodes escapes until none is left, so that equal texts have the same form. */
function unescaped(text: string): string {
  return text.replace(/&(?:amp;)*(amp|lt|gt);/g, (_whole, last: string) =>
    last === 'lt' ? '<' : last === 'gt' ? '>' : '&',
  )
}

function isDefault(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

type Text = { readonly type: 'text'; readonly text: string; readonly style?: unknown }

/** Joins adjacent texts of the same style, and replaces names of emoji by their characters. */
function joinedTexts(list: readonly unknown[]): readonly unknown[] {
  const out: unknown[] = []
  for (const each of list.map(emojiText)) {
    const last = out.at(-1)
    const isOne = isText(each) && isText(last) && styleOf(last) === styleOf(each)
    if (isOne) out[out.length - 1] = { ...last, text: last.text + each.text }
    else out.push(each)
  }
  return out
}

function styleOf({ style }: Text): string {
  return JSON.stringify(style ?? null)
}

function isText(value: unknown): value is Text {
  if (typeof value !== 'object' || value === null) return false
  return Reflect.get(value, 'type') === 'text' && typeof Reflect.get(value, 'text') === 'string'
}

function emojiText(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Reflect.get(value, 'type') !== 'emoji') return value
  const unicode: unknown = Reflect.get(value, 'unicode')
  if (typeof unicode !== 'string' || !/^[0-9a-f]{2,6}(-[0-9a-f]{2,6}){0,15}$/.test(unicode)) return value
  const points = unicode.split('-').map((hex) => Number.parseInt(hex, 16))
  if (points.some((point) => point > 0x10_ffff)) return value
  const style: unknown = Reflect.get(value, 'style')
  const text = String.fromCodePoint(...points)
  return style === undefined ? { type: 'text', text } : { style, text, type: 'text' }
}
