import { isRecord } from '../../../core/connectors/fields/fields.ts'
import { isPlainJson, parseBody } from '../../../core/request/body/body.ts'
import type { CanonicalRequest } from '../../../core/request/canonical.ts'
import type { Exchange } from '../exchange.ts'
import type { ReadPin } from './pins.ts'

/**
 * Adds the approved state to the body of the request where its API takes it and the connector says so: then the provider
 * itself refuses any other. Returns the members that were added. A body in another format stays as it is.
 */
export function completeRequest(exchange: Exchange, pins: readonly ReadPin[]): readonly string[] {
  const { connector, request, body } = exchange
  if (connector?.entry.pins !== 'send') return []
  const inMutation = pins.find(({ pin, value }) => pin.isInMutation === true && value !== null)
  if (inMutation !== undefined) return completeMutation(exchange, inMutation)
  const members = membersOf(pins)
  const names = Object.keys(members)
  if (names.length === 0 || request === undefined) return []
  const completed = withMembers(exchange, request, members)
  if (completed === null) return []
  exchange.bodyBytes = Buffer.from(completed)
  exchange.request = body.isEmpty ? withJsonType(request) : request
  return names
}

function completeMutation(exchange: Exchange, { value }: ReadPin): readonly string[] {
  const { bodyBytes, connector, request } = exchange
  const complete = connector?.connector.pins?.complete
  if (bodyBytes === undefined || request === undefined || complete === undefined || value === null) return []
  const view = isPlainJson(request.body) ? parseBody(bodyBytes, request.body, []) : null
  const completed = view?.kind === 'json' ? complete(bodyBytes.toString('utf8'), value) : null
  if (completed === null) return []
  exchange.bodyBytes = Buffer.from(completed.text)
  return [completed.member]
}

function membersOf(pins: readonly ReadPin[]): Readonly<Record<string, string>> {
  const members = pins.flatMap(({ pin: { sentAs }, value }) =>
    sentAs === undefined || value === null ? [] : [[sentAs, value] as const],
  )
  return Object.fromEntries(members)
}

/** The text of the agent stays as it is. Null for a body that is no JSON object, or has one of the members. */
function withMembers(
  { body, bodyBytes }: Exchange,
  request: CanonicalRequest,
  members: Readonly<Record<string, string>>,
): string | null {
  const added = JSON.stringify(members)
  if (body.isEmpty) return added
  if (bodyBytes === undefined || !isPlainJson(request.body)) return null
  const view = parseBody(bodyBytes, request.body, [])
  if (view.kind !== 'json' || !isRecord(view.value)) return null
  const known = Object.keys(view.value)
  if (known.some((name) => Object.hasOwn(members, name))) return null
  const text = bodyBytes.toString('utf8')
  return known.length === 0 ? added : `${added.slice(0, -1)},${text.slice(text.indexOf('{') + 1)}`
}

function withJsonType(request: CanonicalRequest): CanonicalRequest {
  const isOther = (at: number) => request.rawHeaders[at - (at % 2)]?.toLowerCase() !== 'content-type'
  const rawHeaders = request.rawHeaders.filter((_text, at) => isOther(at))
  return { ...request, rawHeaders: [...rawHeaders, 'Content-Type', 'application/json'] }
}
