import { type Action, isBeside } from '../../action/action.ts'
import { parseBody } from '../../request/body/body.ts'
import { type CanonicalRequest, isRefusal, type Refusal } from '../../request/canonical.ts'
import { canonicalise } from '../../request/canonicalise.ts'
import { canonicalTarget } from '../binding/canonical-target.ts'
import { classify, decidingKeys } from '../classify.ts'
import type { ExecuteRequest, ExecuteSpec } from '../connector.ts'
import { baseOf } from '../domains.ts'
import { missing, wrong } from '../endpoint.ts'
import { type BoundConnector, findConnector, type HostIndex, TYPES_WITHOUT_HOSTS } from '../registry.ts'

/** A request that was built from an action spec, as sent and in canonical form. */
export type ActionRequest = {
  readonly request: ExecuteRequest
  readonly scheme: 'http' | 'https'
  readonly canonical: CanonicalRequest
}

const UTF8 = new TextEncoder()

/**
 * Builds the request of an action, then parses and classifies the request like a gateway. The request must go to a host
 * of a connector of the action's type, and its classification must be this action. Otherwise a `validation` refusal
 * states the correction. `records`: the gateway's connectors of this type, in the gateway's order; the first one builds
 * the request.
 */
export function requestOfAction(
  records: readonly BoundConnector[],
  spec: ExecuteSpec,
  hosts: HostIndex,
): ActionRequest | Refusal {
  const [first] = records
  if (first === undefined) return wrong('type', `no connector can execute ${spec.type}`)
  const request = first.connector.toRequest?.(spec, first.config)
  if (request === undefined)
    return wrong(
      'type',
      `the connector ${first.connector.name} cannot execute submitted actions; send the request through the gateway`,
    )
  if (isRefusal(request)) return request
  if (isVague(records, spec, request))
    return missing(first.connector.name === 'mcp' ? 'parameters.url' : 'resource.target')
  const { scheme, canonical } = readBack(first, request)
  if (isRefusal(canonical)) return wrong('parameters', canonical.detail)
  return judge(spec, { request, scheme, canonical }, hosts) ?? { request, scheme, canonical }
}

/**
 * Returns the connectors among `records` that the request of an action may go to. The address in the spec selects one
 * of them. Without an address, or if no request can be built, all of them are returned.
 */
export function connectorsOfAction(
  records: readonly BoundConnector[],
  spec: ExecuteSpec,
  hosts: HostIndex,
): readonly BoundConnector[] {
  if (records.length < 2) return records
  return [...new Set(records.map((record) => ownerOf(record, spec, hosts)))]
}

/** Returns the connector of the same type that owns the host of the built request; `record` if there is none. */
function ownerOf(record: BoundConnector, spec: ExecuteSpec, hosts: HostIndex): BoundConnector {
  const request = record.connector.toRequest?.(spec, record.config)
  if (request === undefined || isRefusal(request)) return record
  const { canonical } = readBack(record, request)
  const owner = isRefusal(canonical) ? null : findConnector(hosts, canonical.host, canonical.port)
  return owner?.connector.name === record.connector.name ? owner : record
}

/** Parses the built request with the same rules that a gateway applies to a received one. */
function readBack({ config }: BoundConnector, { method, target, host, headers }: ExecuteRequest) {
  const scheme = baseOf(config)?.scheme ?? 'https'
  const rawHeaders = ['Host', host, ...headers]
  const canonical = canonicalise({ method, target, rawHeaders, httpVersion: '1.1', scheme, sources: {} })
  return { scheme, canonical }
}

/**
 * Connector types of self-hosted servers. Only the address selects one of several servers, so the spec must state the
 * address.
 */
const OWN_SERVERS: ReadonlySet<string> = new Set(TYPES_WITHOUT_HOSTS)

function isVague(records: readonly BoundConnector[], spec: ExecuteSpec, request: ExecuteRequest): boolean {
  return records.some(({ connector, config }) => {
    const other = OWN_SERVERS.has(connector.name) ? connector.toRequest?.(spec, config) : undefined
    return other !== undefined && (isRefusal(other) || other.host !== request.host)
  })
}

function judge(spec: ExecuteSpec, { request, canonical }: ActionRequest, hosts: HostIndex): Refusal | null {
  const owner = findConnector(hosts, canonical.host, canonical.port)
  const type = spec.type.slice(0, spec.type.indexOf('.'))
  if (owner === null || owner.connector.name !== type)
    return wrong(
      'resource',
      `${canonical.host} is not a host of a ${type} Connector of this gateway; correct the host, or add it to a Connector`,
    )
  const bytes = request.body === undefined ? new Uint8Array() : UTF8.encode(request.body)
  const body = parseBody(bytes, canonical.body, decidingKeys(owner, canonical))
  const named = isRefusal(body) ? body : classify(owner, canonical, body)
  if (isRefusal(named)) return wrong('parameters', named.detail)
  if (named.kind === 'candidates')
    return wrong('parameters', 'match more than one action; add the parameters that select one')
  const own = named.actions.filter((action) => !isBeside(action))
  const other = own.find((action) => action.type !== spec.type)
  if (other !== undefined)
    return wrong(
      'parameters',
      `describe the action ${other.type}; submit the action under that name, or correct the parameters`,
    )
  return judgeTarget(spec, own, type)
}

/**
 * Refuses a request whose target differs from the target of the spec, because policies and the approver use the spec.
 * Targets of self-hosted servers are addresses, which were compared when the request was built.
 */
function judgeTarget(spec: ExecuteSpec, actions: readonly Action[], type: string): Refusal | null {
  const stated = canonicalTarget(type, spec.resource)
  if (stated === undefined || OWN_SERVERS.has(type)) return null
  const made = actions.map(({ resource }) => canonicalTarget(type, resource))
  const other = made.find((target) => target !== undefined && target !== stated)
  if (other === undefined) return null
  return wrong(
    'resource.target',
    `differs from the target of the request, ${other}; submit the action with that target, or correct the parameters`,
  )
}
