import { type RawHeaders, type Refusal, refusal } from '../../request/canonical.ts'
import { headerName } from '../../request/headers/header-names.ts'
import { isRecord } from '../fields/fields.ts'
import { decodeMirrored } from './mirrored-value.ts'
import { judgeParameters, PARAMETER } from './parameter-headers.ts'

/**
 * Compares headers with the body. The stateless revision of MCP repeats the method, the name of the tool, prompt or
 * resource, and some arguments in headers, so that intermediaries need not read the body. A server may use either the
 * headers or the body, so both must agree.
 */
export function judgeHeaders(rawHeaders: RawHeaders, messages: readonly unknown[]): Refusal | null {
  const mirrored = mirroredHeaders(rawHeaders)
  if (mirrored === null) return null
  return (
    judgeHeader(mirrored, 'mcp-method', messages, methodOf) ??
    judgeHeader(mirrored, 'mcp-name', messages, nameOf) ??
    judgeVersion(mirrored, messages) ??
    judgeParameters(mirrored, messages)
  )
}

/**
 * Values of the headers that repeat parts of the body, by lower-case name with `-`. Names with `_` are included,
 * because CGI-like servers do not distinguish `_` and `-`.
 */
export type MirroredHeaders = ReadonlyMap<string, readonly string[]>

const MIRRORED = new Set(['mcp-method', 'mcp-name', 'mcp-protocol-version'])

function mirroredHeaders(raw: RawHeaders): MirroredHeaders | null {
  let found: Map<string, string[]> | null = null
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = mirroredName(raw[at] ?? '')
    if (name === null) continue
    found ??= new Map()
    found.set(name, [...(found.get(name) ?? []), raw[at + 1] ?? ''])
  }
  return found
}

function mirroredName(header: string): string | null {
  const { lower } = headerName(header)
  if (!lower.startsWith('mcp')) return null
  const name = lower.replaceAll('_', '-')
  return MIRRORED.has(name) || name.startsWith(PARAMETER) ? name : null
}

const VERSION = 'io.modelcontextprotocol/protocolVersion'

/**
 * Compares the protocol version in the messages with the version in the header. Messages contain a version only in the
 * stateless revision of MCP; in a session only the header does.
 */
function judgeVersion(mirrored: MirroredHeaders, messages: readonly unknown[]): Refusal | null {
  const versions = messages.map((message) => metaOf(message)[VERSION])
  const isNamed = versions.some((version) => version !== undefined)
  if (!isNamed) return null
  return judgeHeader(mirrored, 'mcp-protocol-version', messages, (message) => metaOf(message)[VERSION])
}

function metaOf(message: unknown): Readonly<Record<string, unknown>> {
  const params = isRecord(message) ? message['params'] : undefined
  const meta = isRecord(params) ? params['_meta'] : undefined
  return isRecord(meta) ? meta : {}
}

function judgeHeader(
  mirrored: MirroredHeaders,
  header: string,
  messages: readonly unknown[],
  read: (message: unknown) => unknown,
): Refusal | null {
  const values = mirrored.get(header)
  if (values === undefined) return null
  const [value = ''] = values
  const says = decodeMirrored(value)
  if (values.length === 1 && messages.length > 0 && messages.every((message) => read(message) === says))
    return null
  return refusal(
    'ambiguous_request',
    `the header ${header} and the body have different values; send the same value in both`,
  )
}

function methodOf(message: unknown): unknown {
  return isRecord(message) ? message['method'] : undefined
}

function nameOf(message: unknown): unknown {
  const params = isRecord(message) ? message['params'] : undefined
  if (!isRecord(params)) return undefined
  // Each method has one field for its subject (tool, prompt, resource, task). No other field may replace this field.
  const method = String(methodOf(message))
  if (method.startsWith('resources/')) return params['uri']
  return method.startsWith('tasks/') ? params['taskId'] : (params['name'] ?? params['uri'])
}
