import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { eventually } from '../../support/eventually.ts'
import { hasCommand } from '../../support/has-command.ts'
import { type GatewayWorld, startGatewayWorld } from './gateway-world.ts'

const ALERTS = join(import.meta.dirname, '../../../helm/files/alerts.yaml')

type Alert = {
  readonly state: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

// Prometheus begins to scrape after 5 s. `test/helm/alerts.test.ts` evaluates all rules.
describe.skipIf(!hasCommand('prometheus'))('a Prometheus that scrapes a gateway', () => {
  let world: GatewayWorld
  let folder: string
  let prometheus: ChildProcess
  let url: string

  beforeAll(async () => {
    world = await startGatewayWorld()
    folder = await mkdtemp(join(tmpdir(), 'chaperone-prometheus-'))
    const every = '200ms'
    const scraped = {
      ...{ job_name: 'gateways', authorization: { credentials: world.internalToken } },
      static_configs: [
        { targets: [`127.0.0.1:${world.gateway.port}`], labels: { namespace: 'team', pod: 'triage-0' } },
      ],
    }
    const config = {
      global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
      ...{ rule_files: [ALERTS], scrape_configs: [scraped] },
    }
    await writeFile(join(folder, 'prometheus.yaml'), stringify(config))
    const port = await freePort()
    url = `http://127.0.0.1:${port}/api/v1`
    const options = {
      'config.file': join(folder, 'prometheus.yaml'),
      'storage.tsdb.path': join(folder, 'data'),
      'web.listen-address': `127.0.0.1:${port}`,
    }
    const flags = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
    prometheus = spawn('prometheus', flags, { stdio: 'ignore' })
  })
  afterAll(async () => {
    if (prometheus !== undefined && prometheus.exitCode === null) {
      prometheus.kill('SIGKILL')
      await once(prometheus, 'exit')
    }
    await world?.[Symbol.asyncDispose]()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })

  async function data<T>(path: string): Promise<T | null> {
    const response = await fetch(url + path).catch(() => null)
    return response?.ok ? ((await response.json()) as { data: T }).data : null
  }
  async function sampleOf(expression: string): Promise<string | undefined> {
    const query = encodeURIComponent(expression)
    const found = await data<{ result: ReadonlyArray<{ value: [number, string] }> }>(`/query?query=${query}`)
    return found?.result[0]?.value[1]
  }
  const firing = async (name: string) => {
    const found = await data<{ alerts: readonly Alert[] }>('/alerts')
    return found?.alerts.find(({ labels, state }) => labels['alertname'] === name && state === 'firing')
  }

  test('has the metrics of the gateway, and fires the alert on a kill switch while one is active', async () => {
    const kill = 'ChaperoneKillSwitchActive'
    await eventually('the gateway is scraped', async () =>
      (await sampleOf('svc_kill_switch_active{namespace="team"}')) === '0' ? true : null,
    )
    expect(await sampleOf('svc_journal_limit_bytes > svc_journal_bytes')).toMatch(/^\d+/)
    expect(await sampleOf('svc_capture_state{state="none"}')).toBe('1')
    expect(await firing(kill)).toBeUndefined()
    const body = { active: true, scope: 'all', reason: 'wrong prompt shipped' }
    expect((await world.api('POST', '/internal/kill-switch', { body })).status).toBe(200)
    const fired = await eventually('the alert fires', async () => (await firing(kill)) ?? null)
    expect(fired.labels['severity']).toBe('warning')
    expect(fired.annotations['summary']).toBe('A kill switch is active')
    expect(fired.annotations['description']).toContain('chaperone kill status')
  })
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
