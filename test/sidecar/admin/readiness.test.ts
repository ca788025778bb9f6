import { afterEach, expect, test } from 'vitest'
import { freePort } from '../../../controlplane/cli/postgres/free-port.ts'
import { type HealthServer, openHealthServer } from '../../../sidecar/admin/health-server.ts'
import { createConditionWaits } from '../../../sidecar/control/snapshot/condition-waits.ts'
import { createStartGate } from '../../../sidecar/start-gate.ts'

let server: HealthServer | null = null
afterEach(async () => {
  await server?.close()
  server = null
})

test('the readiness probe says why a sidecar without control plane is not ready', async () => {
  const logged: unknown[] = []
  let problem: string | null = 'getaddrinfo EAI_AGAIN chaperone-control-plane.chaperone-system.svc'
  let rules: object | null = null
  const gate = createStartGate(
    {
      config: { startsOnlyWithRules: true },
      snapshot: () => rules as never,
      waits: createConditionWaits(),
      problem: () => problem,
      monotonicMs: () => 0,
      log: { info: () => undefined, warn: (facts: unknown) => void logged.push(facts) },
    },
    () => true,
  )
  const port = await freePort()
  server = await openHealthServer(port, {
    ...gate,
    health: () => ({ status: 'not_ready', uptime_seconds: 0, agents: 0, connectors: [] }),
    scrape: () => '',
  })
  const read = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return `${response.status} ${await response.text()}`
  }
  expect(await read('/ready')).toBe('503 not yet: the listeners are not open\n')
  gate.opened()
  expect(await read('/ready')).toBe(`503 not yet: the control plane has signed no certificate: ${problem}\n`)
  gate.trusted()
  const reason = `not yet: the control plane has sent no rules of the Gateway: ${problem}\n`
  expect(await read('/ready')).toBe(`503 ${reason}`)
  // kubectl shows the body of this one, and that of no error.
  expect(await read('/ready?reason')).toBe(`200 ${reason}`)
  problem = null
  expect(await read('/ready')).toContain(
    '503 not yet: the control plane has sent no rules of the Gateway; see',
  )
  rules = {}
  expect(await read('/ready')).toBe('200 ok\n')
  expect(await read('/ready?reason')).toBe('200 ok\n')
})
