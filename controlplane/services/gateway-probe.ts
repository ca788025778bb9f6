import { validationError } from '../http/input.ts'
import { listGateways } from '../store/gateways.ts'
import type { Db } from '../store/query.ts'

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
 * Asks a gateway how it is. Only addresses that an admin has configured are asked (`gateway_url`, or host and port of a
 * gateway): anything else throws `validation`, so that nobody can look around the network through us.
 */
export type GatewayProbe = (url: string | undefined) => Promise<ProbeReport>

export function createGatewayProbe(deps: {
  readonly db: Db
  readonly gatewayUrl: () => Promise<string | null>
}): GatewayProbe {
  return async (given) => {
    const configured = await deps.gatewayUrl()
    const allowed = [
      ...(configured === null ? [] : [configured]),
      ...(await listGateways(deps.db)).flatMap(({ host, port }) => addressesOf(host, port)),
    ]
    const wanted = given ?? allowed[0]
    const target = wanted === undefined ? undefined : allowed.find((address) => isSameOrigin(address, wanted))
    if (target !== undefined) return ask(new URL('/health', target))
    const what =
      wanted === undefined
        ? 'is required, because no gateway is registered'
        : 'is not an address of a gateway'
    throw validationError([
      `url: ${what}; give the gateway_url of the settings or http://HOST:PORT of a registered one`,
    ])
  }
}

function addressesOf(host: string, port: number): string[] {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  return [`http://${name}:${port}`, `https://${name}:${port}`].filter((address) => URL.canParse(address))
}

function isSameOrigin(address: string, wanted: string): boolean {
  if (!URL.canParse(wanted)) return false
  const { origin, username, password } = new URL(wanted)
  return origin === new URL(address).origin && username === '' && password === ''
}

async function ask(url: URL): Promise<ProbeReport> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const answer = await fetch(url, { signal, redirect: 'manual' })
    return read(answer.status, parsed(await limitedText(answer)))
  } catch (error) {
    if (!signal.aborted)
      return failed('unreachable', `Nothing answers at ${url.host}: is the gateway running?`, error)
    return failed('timeout', `No answer from ${url.host} within ${TIMEOUT_MS / 1000} s`, error)
  }
}

function failed(status: 'unreachable' | 'timeout', error: string, cause: unknown): ProbeReport {
  const code =
    cause instanceof Error && cause.cause instanceof Error && 'code' in cause.cause ? cause.cause.code : null
  return { ok: false, status, connectors: [], error: code === null ? error : `${error} (${code})` }
}

function read(status: number, body: unknown): ProbeReport {
  const health = typeof body === 'object' && body !== null ? body : {}
  if (!('status' in health) || !('uptime_seconds' in health)) {
    const error = `What answers there (status ${status}) is no gateway: check the address`
    return { ok: false, status: 'no_gateway', connectors: [], error }
  }
  const listed = 'connectors' in health && Array.isArray(health.connectors) ? health.connectors : []
  const connectors = listed.filter((name) => typeof name === 'string').slice(0, 100)
  if (status === 200) return { ok: true, status: 'connected', connectors }
  return {
    ok: false,
    status: 'not_ready',
    connectors,
    error: 'The gateway runs and has no configuration yet',
  }
}

async function limitedText(answer: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of answer.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > MAX_BODY) break
  }
  return text
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
