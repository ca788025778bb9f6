import { isRecord } from '../../../core/connectors/fields/fields.ts'
import { isPlainJson, parseBody } from '../../../core/request/body/body.ts'
import type { CanonicalRequest } from '../../../core/request/canonical.ts'
import { type Evaluated, type Governed, setConnector } from '../phases.ts'
import type { ReadPin } from './pins.ts'

/**
 * Adds the approved state to the request body when the API accepts the state as a body member and the connector has
 * `pins: send`. The provider then refuses the request if the state has changed. Returns the names of the added members.
 * A body in another format than JSON is not changed.
 */
export function completeRequest(exchange: Evaluated, pins: readonly ReadPin[]): readonly string[] {
  if (exchange.connector === undefined || exchange.connector.entry.pins !== 'send') return []
  const { connector, request, body, losesParameter } = exchange
  const inMutation = pins.find(({ pin, value }) => pin.isInMutation === true && value !== null)
  if (inMutation !== undefined) return completeMutation(exchange, inMutation)
  const members = membersOf(pins)
  const names = Object.keys(members)
  if (names.length === 0) return []
  const completed = withMembers(exchange, members)
  if (completed === null) return []
  exchange.bodyBytes = Buffer.from(completed)
  if (body.isEmpty)
    setConnector(exchange, connector, { request: withJsonType(request), losesOther: losesParameter })
  return names
}

function completeMutation(exchange: Governed, { value }: ReadPin): readonly string[] {
  const { bodyBytes, connector, request } = exchange
  const complete = connector.connector.pins?.complete
  if (bodyBytes === undefined || complete === undefined || value === null) return []
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

/**
 * Adds members to a JSON object and keeps the agent's text unchanged. Returns null for other bodies, and when one of
 * the members is already present.
 */
function withMembers(
  { body, bodyBytes, request }: Governed,
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
