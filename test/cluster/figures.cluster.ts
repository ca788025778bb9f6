import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { size } from '../support/proof.ts'
import { agentPod, CALLS, inAgent, inForce, running, startVendor, type Vendor } from './agents.ts'
import { AGENTS, install } from './installation.ts'
import { apply, kube } from './kubectl.ts'
import { type NodeAccess, openNode } from './node-access.ts'

const GATEWAY = 'figures'
const PODS = ['first', 'second', 'third', 'fourth', 'fifth'].slice(0, size(3, 5))
let vendor: Vendor
let node: NodeAccess

beforeAll(async () => {
  await install(inject('installation'))
  vendor = await startVendor(GATEWAY)
  node = await openNode('figures')
  // One after the other: how long a sidecar takes by itself, not how long five of them do.
  for (const name of PODS) {
    await apply(agentPod(name, GATEWAY))
    await running(name)
  }
  await inForce(GATEWAY)
}, 300_000)
afterAll(async () => {
  await kube(['delete', 'pod', ...PODS, '-n', AGENTS, '--wait=false', '--ignore-not-found'])
  await node?.[Symbol.asyncDispose]()
  await vendor?.[Symbol.asyncDispose]()
})

test('from the start of its process a sidecar lets its agent start, and says after how long', async () => {
  const times: number[] = []
  const computing: number[] = []
  for (const name of PODS) {
    const log = await kube(['logs', name, '-c', 'chaperone-proxy', '-n', AGENTS])
    const line = log.split('\n').find((each) => each.includes('the agent may start')) ?? '{}'
    const said = JSON.parse(line) as {
      readonly process_ms?: number
      readonly cpu_ms?: number
      readonly late?: boolean
    }
    expect(said.late, name).toBe(false)
    times.push(said.process_ms ?? Number.NaN)
    computing.push(said.cpu_ms ?? Number.NaN)
  }
  console.log(
    `sidecar, from its process to the agent's start, ms: ${times.join(' ')}; of these computing: ${computing.join(' ')}`,
  )
  expect(times.every(Number.isInteger)).toBe(true)
})

test('a sidecar that has served and is idle holds no more than 90 MiB', async () => {
  for (const name of PODS) expect((await inAgent(name, CALLS.node('GET'))).stdout).toMatch(/^200/)
  const memory = await eventually(
    'all have come to rest',
    async () => {
      const found = await Promise.all(PODS.map((name) => node.proxyMemoryMib(name)))
      return found.every((mib) => mib <= 90) ? found : null
    },
    60_000,
  )
  console.log(`resident memory of idle sidecars, MiB: ${memory.join(' ')}`)
  expect(Math.max(...memory)).toBeLessThanOrEqual(90)
})

const REVIEWS = 300
const BUCKET = 'apiserver_admission_webhook_admission_duration_seconds_bucket'

/** How many reviews the API server waited for no longer than so many seconds; the last is all of them. */
async function reviewsWithin(): Promise<ReadonlyMap<number, number>> {
  const lines = (await kube(['get', '--raw', '/metrics'])).split('\n')
  const ours = lines.filter((line) => line.startsWith(BUCKET) && line.includes('annotated.chaperone.dev'))
  const within = new Map<number, number>()
  for (const line of ours) {
    const [, le = ''] = /le="([^"]+)"/.exec(line) ?? []
    const seconds = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)
    within.set(seconds, (within.get(seconds) ?? 0) + Number(line.split(' ').at(-1)))
  }
  return within
}

test(`the API server says how long it waited for the webhook, of ${REVIEWS} pods`, async () => {
  const before = await reviewsWithin()
  const items = Array.from({ length: REVIEWS }, (_, at) => agentPod(`reviewed-${at}`, GATEWAY))
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await kube(['create', '--dry-run=server', '-o', 'name', '-f', '-'], list)
  const grown = [...(await reviewsWithin())].map(
    ([seconds, count]) => [seconds, count - (before.get(seconds) ?? 0)] as const,
  )
  const text = grown.map(([seconds, count]) => `${count} within ${seconds * 1_000} ms`).join(', ')
  console.log(`of the reviews that the API server waited for: ${text}`)
  expect(grown.at(-1)?.[1]).toBeGreaterThanOrEqual(REVIEWS)
})
