import { once } from 'node:events'
import { request } from 'node:http'
import { Worker } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { freePort } from '../../../controlplane/cli/postgres/free-port.ts'
import { inject } from '../../../core/inject/inject.ts'
import { PodSchema } from '../../../core/inject/pod.ts'
import { gateway, INJECT_OPTIONS } from '../../support/golden-pods.ts'

let worker: Worker | null = null
afterEach(async () => {
  await worker?.terminate()
  worker = null
})

/** The liveness probe of an injected pod. */
function livenessProbe() {
  const metadata = { name: 'agent', annotations: { 'chaperone.dev/gateway': 'main' } }
  const given = PodSchema.parse({ metadata, spec: { containers: [{ name: 'agent', image: 'node:24' }] } })
  const result = inject(given, gateway('team', 'main'), INJECT_OPTIONS)
  if (result.kind === 'refused') throw new Error(JSON.stringify(result.refusals))
  const proxy = result.pod.spec.initContainers?.find(({ name }) => name === 'chaperone-proxy')
  return proxy?.livenessProbe as { httpGet: { path: string; port: number }; [key: string]: unknown }
}

/** The health server in an event loop of its own, which works for `sliceMs` without a pause, again and again. */
async function startHealthServer(sliceMs: number): Promise<number> {
  const port = await freePort()
  const server = new URL('../../../sidecar/admin/health-server.ts', import.meta.url).href
  const program = `
    import { parentPort } from 'node:worker_threads'
    const { openHealthServer } = await import(${JSON.stringify(server)})
    const notReady = { whenStarted: async () => 'no rules', notReady: () => 'no rules' }
    await openHealthServer(${port}, { health: () => ({ status: 'not_ready' }), scrape: () => '', ...notReady })
    const work = () => {
      const until = performance.now() + ${sliceMs}
      while (performance.now() < until);
      setTimeout(work)
    }
    setTimeout(() => {
      parentPort.postMessage('working')
      work()
    })`
  worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`))
  await once(worker, 'message')
  return port
}

/** Status of the answer; null without one within `timeoutMs`. */
async function probe(port: number, path: string, timeoutMs: number): Promise<number | null> {
  const sent = request({ host: '127.0.0.1', port, path, signal: AbortSignal.timeout(timeoutMs) }).end()
  try {
    const [response] = await once(sent, 'response')
    response.resume()
    return response.statusCode
  } catch {
    // Timed out: what the kubelet counts as a failure.
    return null
  }
}

test('a busy event loop answers the liveness probe of the pod, also while the gateway is not ready', async () => {
  const { httpGet } = livenessProbe()
  const port = await startHealthServer(30)
  for (let times = 0; times < 5; times += 1) expect(await probe(port, httpGet.path, 60_000)).toBe(200)
  expect(await probe(port, '/ready', 60_000)).toBe(503)
})

test('a blocked event loop does not answer it, and the kubelet restarts the container after six failures', async () => {
  const { httpGet, ...limits } = livenessProbe()
  expect(httpGet).toMatchObject({ port: 15_021, path: '/live' })
  expect(limits).toMatchObject({ failureThreshold: 6, periodSeconds: 10, timeoutSeconds: 10 })
  const port = await startHealthServer(3_600_000)
  for (let times = 0; times < 3; times += 1) expect(await probe(port, httpGet.path, 300)).toBeNull()
})
