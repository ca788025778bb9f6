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
    judgeHeader(rawHeaders, 'mcp-name', messages, nameOf)
  )
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
  return params['name'] ?? params['uri']
}
