import { createServer, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { HEALTH_PATHS, READINESS_REASON } from '../../core/capture/pod-contract.ts'
import type { GatewayHealth } from '../../core/wire/gateway/internal-replies.ts'

export type HealthServerDeps = {
  readonly health: () => GatewayHealth
  readonly scrape: () => string
  /**
   * Resolves with null once the containers of the agent may start. If they may not start in time, resolves with the
   * reason shortly before the start-up probe of the kubelet times out. An immediate answer would delay the agent by a
   * second, because the kubelet probes at most once a second. Never rejects.
   */
  readonly whenStarted: () => Promise<string | null>
  /**
   * Returns null when the gateway can decide requests and no traffic bypasses the gateway; otherwise returns the reason
   * why the gateway is not ready.
   */
  readonly notReady: () => string | null
}

export type HealthServer = { close(): Promise<void> }

/**
 * Serves `/health`, `/started`, `/ready`, `/live` and `/metrics` without a token, for the kubelet and Prometheus. No
 * path changes state. Listens on IPv4 and IPv6 where both exist.
 */
export async function openHealthServer(port: number, deps: HealthServerDeps): Promise<HealthServer> {
  const server = createServer((request, response) => {
    request.resume()
    const url = request.url ?? ''
    if (request.method !== 'GET' && request.method !== 'HEAD') answer(response, 405, 'only GET\n')
    else if (url === READINESS_REASON) answer(response, 200, readiness(deps.notReady()))
    else serve(deps, url.split('?')[0] ?? '', response)
  })
  server.headersTimeout = 5_000
  server.requestTimeout = 5_000
  evictOldest(server)
  const listen = (host: string): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen({ port, host }, () => {
        server.removeListener('error', reject)
        resolve()
      })
    })
  await listen('::').catch((error: unknown) => {
    if (hasNoIpv6(error)) return listen('0.0.0.0')
    throw error
  })
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/**
 * Closes the oldest connection when the server has reached its connection limit, so that a client with many open
 * connections cannot block probes.
 */
function evictOldest(server: Server): void {
  const open = new Set<Socket>()
  server.on('connection', (socket) => {
    const [oldest] = open
    if (open.size >= MAX_CONNECTIONS && oldest !== undefined) {
      open.delete(oldest)
      oldest.destroy()
    }
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
}

const MAX_CONNECTIONS = 64

function serve(deps: HealthServerDeps, path: string, response: ServerResponse): void {
  if (path === '/health') health(deps.health(), response)
  else if (path === HEALTH_PATHS.started) void deps.whenStarted().then((reason) => probed(reason, response))
  else if (path === HEALTH_PATHS.ready) probed(deps.notReady(), response)
  else if (path === HEALTH_PATHS.live) answer(response, 200, 'ok\n')
  else if (path === '/metrics') answer(response, 200, deps.scrape(), METRICS_TYPE)
  else answer(response, 404, 'Not found\n')
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

function health(body: GatewayHealth, response: ServerResponse): void {
  answer(response, body.status === 'not_ready' ? 503 : 200, JSON.stringify(body), 'application/json')
}

function probed(reason: string | null, response: ServerResponse): void {
  answer(response, reason === null ? 200 : 503, readiness(reason))
}

function readiness(reason: string | null): string {
  return reason === null ? 'ok\n' : `not yet: ${reason}\n`
}

function answer(response: ServerResponse, status: number, body: string, type = 'text/plain'): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
}

function hasNoIpv6(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAFNOSUPPORT'
}
