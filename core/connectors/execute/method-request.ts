import { isRefusal, type Refusal } from '../../request/canonical.ts'
import type { ConnectorConfig, ExecuteRequest, ExecuteSpec } from '../connector.ts'
import { readEndpoint, refuseUnknown, wrong } from '../endpoint.ts'
import { isRecord } from '../fields/fields.ts'
import { formText } from '../fields/form-text.ts'

const KNOWN = ['url', 'path', 'query', 'body', 'content_type', 'headers'] as const
const ENDPOINT = { targetIsAddress: true, basePathIsEnough: false }
const FORM = 'application/x-www-form-urlencoded'

/**
 * Builds the request of an action that only names an HTTP method (`generic.post`). The address is `resource.target`,
 * `parameters.url` or `parameters.path`. `parameters.query` and `parameters.headers` are objects. `parameters.body` is
 * any JSON value, or text with its `content_type`.
 */
export function methodRequest(
  method: string,
  spec: ExecuteSpec,
  config: ConnectorConfig,
): ExecuteRequest | Refusal {
  const unknown = refuseUnknown(spec, KNOWN)
  if (unknown !== null) return unknown
  const endpoint = readEndpoint(spec, config, ENDPOINT)
  if (isRefusal(endpoint)) return endpoint
  const query = queryOf(endpoint.query, spec.parameters['query'])
  if (isRefusal(query)) return query
  const headers = headersOf(spec.parameters['headers'])
  if (isRefusal(headers)) return headers
  const body = bodyOf(method, spec.parameters)
  if (isRefusal(body)) return body
  const { host, path } = endpoint
  const { type, text } = body
  if (text === undefined) return { method, host, target: path + query, headers: headers.fields }
  return {
    method,
    host,
    target: path + query,
    headers: ['Content-Type', type, ...headers.fields],
    body: text,
  }
}

function queryOf(stated: string, query: unknown): string | Refusal {
  if (query === undefined) return stated
  if (!isRecord(query)) return wrong('parameters.query', 'must be an object of names and values')
  if (stated !== '')
    return wrong('parameters.query', 'is present in both the url and parameters.query; remove one')
  const text = formText(Object.entries(query))
  return text === '' ? '' : `?${text}`
}

/**
 * Matches headers that an action cannot set: headers of the connection, headers with credentials, and headers that have
 * their own parameter (`content_type`).
 */
const OWN =
  /^(host|user-agent|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|cookie|authorization|proxy-.*)$/i
const NAME = /^[!#$%&'*+.^`|~0-9A-Za-z-]+$/
const VALUE = /^[\t\u0020-\u007e]*$/

function headersOf(headers: unknown): { readonly fields: readonly string[] } | Refusal {
  if (headers === undefined) return { fields: [] }
  if (!isRecord(headers)) return wrong('parameters.headers', 'must be an object of names and strings')
  const fields: string[] = []
  for (const [name, value] of Object.entries(headers)) {
    const field = `parameters.headers.${name}`
    if (!NAME.test(name) || OWN.test(name)) return wrong(field, 'is not a header that an action can set')
    if (typeof value !== 'string' || !VALUE.test(value)) return wrong(field, 'must be printable ASCII text')
    fields.push(name, value)
  }
  return { fields }
}

type Body = { readonly type: string; readonly text: string | undefined }

function bodyOf(method: string, parameters: ExecuteSpec['parameters']): Body | Refusal {
  const { body, content_type: type } = parameters
  if (type !== undefined && !isMediaType(type))
    return wrong('parameters.content_type', 'must be a media type')
  if (body === undefined) return { type: '', text: undefined }
  if (method === 'GET') return wrong('parameters.body', 'has no meaning with GET; use parameters.query')
  if (typeof body === 'string') return { type: type ?? 'text/plain; charset=utf-8', text: body }
  return writtenBody(body, type)
}

function writtenBody(body: unknown, type = 'application/json'): Body | Refusal {
  if (type === FORM && isRecord(body)) return { type, text: formText(Object.entries(body)) }
  if (/^[^;]*[/+]json\s*(;|$)/i.test(type)) return { type, text: JSON.stringify(body) }
  return wrong('parameters.body', `must be a string if content_type is ${type}`)
}

function isMediaType(type: unknown): type is string {
  return typeof type === 'string' && /^[\w.+-]+\/[\w.+-]+(;[\u0020-\u007e]*)?$/.test(type)
}
