/** Characters that a segment of an action type may hold; every other one becomes `~XX`, XX a UTF-8 byte in hex. */
const PLAIN = /^[A-Za-z0-9_-]*$/
const UTF8 = new TextEncoder()

/** A tool's or method's name as the last segment of an action type. Reversible, because `~` itself is escaped. */
export function escapeName(name: string): string {
  if (PLAIN.test(name)) return name
  let out = ''
  for (const byte of UTF8.encode(name)) {
    const char = String.fromCharCode(byte)
    out += byte < 0x80 && PLAIN.test(char) ? char : `~${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return out
}

/** `mcp.tools.<name>`; a tool called `list` is `~list`, because `mcp.tools.list` is the method `tools/list`. */
export function toolType(name: string): string {
  return `mcp.tools.${name === 'list' ? '~list' : escapeName(name)}`
}

/** Names that this gateway gives itself: a method that is called so must not pass for them. */
const OWN = new Set(['unknown', 'stream_open', 'session_end', 'response', 'tools_call', 'tools_list'])

/** `mcp.rpc.<method>` with `_` for `/`. */
export function rpcType(method: string): string {
  const name = method.split('/').map(escapeName).join('_')
  return `mcp.rpc.${OWN.has(name) ? '~' : ''}${name}`
}
