import { type RawHeaders, type Refusal, refusal } from '../../request/canonical.ts'
import { headerValues } from '../../request/headers.ts'
import { isRecord } from '../fields.ts'

/**
 * The stateless revision repeats the method and the name of the tool, prompt or resource in headers, so that hops need
 * not read the body. A server may act on either, so where they are present they must say the same.
 */
export function judgeHeaders(rawHeaders: RawHeaders, messages: readonly unknown[]): Refusal | null {
  return (
    judgeHeader(rawHeaders, 'mcp-method', messages, methodOf) ??
    judgeHeader(rawHeaders, 'mcp-name', messages, nameOf) ??
    judgeVersion(rawHeaders, messages)
  )
}

const VERSION = 'io.modelcontextprotocol/protocolVersion'

/** A message of the stateless revision names its revision itself; one of a session leaves that to the header. */
function judgeVersion(rawHeaders: RawHeaders, messages: readonly unknown[]): Refusal | null {
  const versions = messages.map((message) => metaOf(message)[VERSION])
  const isNamed = versions.some((version) => version !== undefined)
  if (!isNamed) return null
  return judgeHeader(rawHeaders, 'mcp-protocol-version', messages, (message) => metaOf(message)[VERSION])
}

function metaOf(message: unknown): Readonly<Record<string, unknown>> {
  const params = isRecord(message) ? message['params'] : undefined
  const meta = isRecord(params) ? params['_meta'] : undefined
  return isRecord(meta) ? meta : {}
}

function judgeHeader(
  rawHeaders: RawHeaders,
  header: string,
  messages: readonly unknown[],
  read: (message: unknown) => unknown,
): Refusal | null {
  const values = headerValues(rawHeaders, header)
  if (values.length === 0) return null
  const [value = ''] = values
  const says = decodeValue(value.trim())
  if (values.length === 1 && messages.length > 0 && messages.every((message) => read(message) === says))
    return null
  return refusal(
    'ambiguous_request',
    `the header ${header} and the body name different things; make them agree`,
  )
}

/** Text that no header can carry travels as `=?base64?…?=`. */
function decodeValue(value: string): string | null {
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/i.exec(value)
  if (encoded === null) return value
  try {
    const bytes = Uint8Array.from(atob(encoded[1] ?? ''), (char) => char.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}

function methodOf(message: unknown): unknown {
  return isRecord(message) ? message['method'] : undefined
}

function nameOf(message: unknown): unknown {
  const params = isRecord(message) ? message['params'] : undefined
  if (!isRecord(params)) return undefined
  // Each method has one field that names its subject: another field of that name must not stand in for it.
  const method = String(methodOf(message))
  if (method.startsWith('resources/')) return params['uri']
  return method.startsWith('tasks/') ? params['taskId'] : (params['name'] ?? params['uri'])
}
