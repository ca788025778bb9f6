import { authorityText } from '../../../core/request/authority-text.ts'
import type { Resolve } from '../../../core/request/outbound-address.ts'
import { covers, type Namespaces } from '../../../core/wire/access/rights.ts'
import type { ScopedReads } from '../../db/scoped-query.ts'
import { validationError } from '../../http/input.ts'
import { listConnectorsIn } from '../connectors/rows.ts'
import { type Call, CallError, callGateway, checkAddress, resolveByDns } from './dial.ts'
import { listGatewaysIn } from './rows.ts'

const TIMEOUT_MS = 2_000
const MAX_BODY = 64 * 1024

export type ProbeReport =
  | { readonly ok: true; readonly status: 'connected'; readonly connectors: readonly string[] }
  | {
      readonly ok: false
      readonly status: 'not_ready' | 'unreachable' | 'timeout' | 'no_gateway'
      readonly connectors: readonly string[]
      readonly error: string
    }

/**
 * Requests the health of a gateway. Permits only configured addresses: the setting `gateway_url`, and host and port of
 * gateways in the caller's namespaces. Throws `validation` for any other address, so that the endpoint cannot be used
 * to scan the network.
 */
export type GatewayProbe = (namespaces: Namespaces, url: string | undefined) => Promise<ProbeReport>

export type GatewayProbeDeps = {
  readonly read: ScopedReads
  readonly gatewayUrl: () => Promise<string | null>
  readonly resolve?: Resolve
}

export function createGatewayProbe(deps: GatewayProbeDeps): GatewayProbe {
  return async (namespaces, given) => {
    const allowed = await allowedAddresses(deps, namespaces)
    const wanted = given ?? allowed[0]
    const target = wanted === undefined ? undefined : allowed.find((address) => isSameOrigin(address, wanted))
    if (target !== undefined)
      return shownTo(deps, namespaces, await ask(target, deps.resolve ?? resolveByDns))
    const what =
      wanted === undefined
        ? 'is required, because no gateway is registered'
        : 'is not the address of a gateway'
    throw validationError([
      `url: ${what}; give the gateway_url of the settings, or http://HOST:PORT of a registered gateway`,
    ])
  }
}

/**
 * Removes connector types of other namespaces from a health report. A gateway reports the types of all its connectors.
 */
async function shownTo(
  { read }: GatewayProbeDeps,
  namespaces: Namespaces,
  report: ProbeReport,
): Promise<ProbeReport> {
  if (namespaces === 'all') return report
  const own = new Set((await listConnectorsIn(read(namespaces))).map(({ type }) => type))
  return { ...report, connectors: report.connectors.filter((type) => own.has(type)) }
}

/**
 * Returns the addresses that the caller may probe. The setting `gateway_url` is excluded for a user whose right is
 * limited to some namespaces: the setting has no namespace, and its gateway reports the connectors of all tenants.
 */
async function allowedAddresses(
  { read, gatewayUrl }: GatewayProbeDeps,
  namespaces: Namespaces,
): Promise<readonly string[]> {
  const configured = covers(namespaces, null) ? await gatewayUrl() : null
  const gateways = await listGatewaysIn(read(namespaces))
  return [
    ...(configured === null ? [] : [configured]),
    ...gateways.flatMap(({ host, port }) => addressesOf(host, port)),
  ]
}

function addressesOf(host: string, port: number): string[] {
  const authority = authorityText(host, port)
  return [`http://${authority}`, `https://${authority}`].filter((address) => URL.canParse(address))
}

function isSameOrigin(address: string, wanted: string): boolean {
  if (!URL.canParse(wanted)) return false
  const { origin, username, password } = new URL(wanted)
  return origin === new URL(address).origin && username === '' && password === ''
}

async function ask(target: string, resolve: Resolve): Promise<ProbeReport> {
  const place = await checkAddress(target, resolve)
  if (typeof place === 'string') return failed('unreachable', `${target} cannot be used: ${place}`)
  const { host } = place.url
  try {
    const { status, body } = await callGateway(place, healthCall(host))
    return read(status, parsed(body.toString('utf8')))
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    return error.isLate
      ? failed('timeout', `No answer from ${host} within ${TIMEOUT_MS / 1000} s`)
      : failed('unreachable', `No answer from ${host}; check that the gateway is running (${error.message})`)
  }
}

function healthCall(host: string): Call {
  return {
    method: 'GET',
    target: '/health',
    headers: ['Host', host],
    body: null,
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BODY,
  }
}

function failed(status: 'unreachable' | 'timeout', error: string): ProbeReport {
  return { ok: false, status, connectors: [], error }
}

function read(status: number, body: unknown): ProbeReport {
  const health = typeof body === 'object' && body !== null ? body : {}
  if (!('status' in health) || !('uptime_seconds' in health)) {
    const error = `The server at this address is not a gateway (status ${status}); check the address`
    return { ok: false, status: 'no_gateway', connectors: [], error }
  }
  const listed = 'connectors' in health && Array.isArray(health.connectors) ? health.connectors : []
  const connectors = listed.filter((name) => typeof name === 'string').slice(0, 100)
  if (status === 200) return { ok: true, status: 'connected', connectors }
  return {
    ok: false,
    status: 'not_ready',
    connectors,
    error:
      'The gateway runs but has not received its configuration yet, so it cannot decide on requests; check that it reaches the control plane',
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
