import type { RawHeaders } from '../../../core/request/canonical.ts'
import type { WireRequest } from '../http1/connection.ts'
import type { UpstreamTarget } from '../target.ts'

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
const UNSAFE_VALUE = /[^\t\x20-\x7e\x80-\xff]/
/**
 * Number of elements of the Host header, name and value, which `outboundHeaders` puts first. HTTP/2 sends `:authority`
 * instead.
 */
const HOST_PAIR = 2

/**
 * Returns the header list of a gRPC call: pseudo-header fields, then the fields that HTTP/1.1 would send, in lower
 * case. The gateway adds the field `te: trailers` again: the field is hop-by-hop, but gRPC servers require it.
 */
export function callFields({ method, path, headers }: WireRequest, target: UpstreamTarget): string[] {
  const scheme = target.isTls ? 'https' : 'http'
  const fields = [':method', method, ':scheme', scheme, ':authority', target.hostHeader, ':path', path]
  fields.push('te', 'trailers')
  for (let at = HOST_PAIR; at + 1 < headers.length; at += 2) {
    const name = (headers[at] ?? '').toLowerCase()
    const value = headers[at + 1] ?? ''
    if (!NAME.test(name) || UNSAFE_VALUE.test(value)) {
      throw new Error(`the header ${name} is not safe to send`)
    }
    fields.push(name, value)
  }
  return fields
}

/** Returns the headers or trailers of a response without pseudo-header fields. */
export function plainFields(raw: RawHeaders): string[] {
  const fields: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? ''
    if (!name.startsWith(':')) fields.push(name, raw[at + 1] ?? '')
  }
  return fields
}
