import { isMethodName } from './methods.ts'

/**
 * Matches names that need no escapes in a segment of an action type. Each UTF-8 byte of any other character becomes
 * `~XX`, with XX in hex.
 */
const PLAIN = /^[A-Za-z0-9_-]*$/
const UTF8 = new TextEncoder()

/**
 * Escapes a tool's or method's name as the last segment of an action type. The escaping is reversible, because `~`
 * itself is escaped.
 */
function escapeName(name: string): string {
  if (PLAIN.test(name)) return name
  let out = ''
  for (const byte of UTF8.encode(name)) {
    const char = String.fromCharCode(byte)
    out += byte < 0x80 && PLAIN.test(char) ? char : `~${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return out
}

/**
 * Returns `mcp.tools.<name>`; a tool called `list` becomes `~list`, because `mcp.tools.list` is the method
 * `tools/list`.
 */
export function toolType(name: string): string {
  return `mcp.tools.${name === 'list' ? '~list' : escapeName(name)}`
}

/** Returns the tool name in an action type; null if the escaped bytes are not a valid name. */
export function toolName(type: string): string | null {
  const escaped = type.slice('mcp.tools.'.length)
  if (escaped === '~list') return 'list'
  const bytes: number[] = []
  for (const [, hex, plain = ''] of escaped.matchAll(/~([0-9A-F]{2})|([\s\S])/g))
    bytes.push(hex === undefined ? plain.charCodeAt(0) : Number.parseInt(hex, 16))
  // Invalid UTF-8 becomes a replacement character. The resulting name then has another type, so it is not returned.
  const name = new TextDecoder().decode(Uint8Array.from(bytes))
  return toolType(name) === type ? name : null
}

/** Returns `mcp.rpc.<method>` with `_` for `/`; null for an invalid or colliding method name. */
export function rpcType(method: string): string | null {
  return isMethodName(method) ? `mcp.rpc.${method.replaceAll('/', '_')}` : null
}
