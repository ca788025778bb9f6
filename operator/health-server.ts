import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A condition of readiness. `problem` returns null when the condition is met, else the reason why it is not. */
export type ReadinessCheck = { readonly name: string; readonly problem: () => string | null }

export type HealthServer = AsyncDisposable & { readonly port: number }

export type HealthServerDeps = {
  readonly host: string
  readonly port: number
  readonly checks: readonly ReadinessCheck[]
  readonly scrape: () => Promise<string>
}

/** Serves `/livez`, `/readyz` with every check by name (503 when one fails) and `/metrics`. */
export async function startHealthServer(deps: HealthServerDeps): Promise<HealthServer> {
  const { host, port, checks, scrape } = deps
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0]
    if (path === '/livez') return answer(response, 200, 'ok\n')
    if (path === '/readyz') return readiness(response, checks)
    if (path !== '/metrics') return answer(response, 404, 'Not found. Use /livez, /readyz or /metrics.\n')
    scrape().then(
      (text) => answer(response, 200, text),
      () => answer(response, 500, 'The metrics could not be collected.\n'),
    )
  })
  server.listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}

function readiness(response: ServerResponse, checks: readonly ReadinessCheck[]): void {
  const results = checks.map(({ name, problem }) => [name, problem() ?? 'ok'] as const)
  const isReady = results.every(([, result]) => result === 'ok')
  answer(response, isReady ? 200 : 503, `${JSON.stringify(Object.fromEntries(results))}\n`)
}

function answer(response: ServerResponse, status: number, body: string): void {
  const type = body.startsWith('{') ? 'application/json' : 'text/plain; charset=utf-8'
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
}
