import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { startWorld } from '../../sidecar/pipeline/test-world.ts'
import { testAgent } from '../../support/agent.ts'
import { HOSTILE_INPUTS, HOSTILE_RULES, type HostileInput } from '../../support/hostile-inputs.ts'
import { type Laptop, startLaptop } from '../../support/laptop.ts'
import { requestBytes, sendRaw } from '../../support/raw-http.ts'
import { startVendors } from '../../support/vendors.ts'
import type { Bench } from '../main.ts'
import { quantile } from '../support/load.ts'
import { absolute, type Row } from '../support/report.ts'

const BLOCK_GOAL_MS = 20
const KILL_GOAL_MS = 200
const PARALLEL = 16

/** How long one request of 1 MiB keeps the event loop, and a kill switch while sixteen of them are read. */
export const limits: Bench = async ({ isQuick }) => [
  ...(await blocks(isQuick ? 3 : 9)),
  ...(await acknowledgements(isQuick ? 3 : 20)),
]

/** The median over the rounds of the longest turn that each input took; the input that took longest. */
async function blocks(rounds: number): Promise<Row[]> {
  const worst = { name: '', ms: 0 }
  for (const input of HOSTILE_INPUTS) {
    const turns: number[] = []
    for (let round = 0; round < rounds; round += 1) turns.push(await longestTurn(input))
    const ms = quantile(sorted(turns), 0.5)
    if (ms > worst.ms) Object.assign(worst, { name: input[0], ms })
  }
  const idle: number[] = []
  for (let round = 0; round < rounds; round += 1) idle.push(await longestTurn(null))
  return [
    absolute(
      'B15',
      `longest turn of the worst of ${HOSTILE_INPUTS.length} inputs (${worst.name}), ms`,
      worst.ms,
      BLOCK_GOAL_MS,
    ),
    absolute('B15', 'the same without an input, ms', quantile(sorted(idle), 0.5), null),
  ]
}

async function longestTurn(input: HostileInput | null): Promise<number> {
  await using world = await startWorld(HOSTILE_RULES)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  await sleep(5)
  delay.enable()
  await sleep(5)
  delay.reset()
  if (input !== null) {
    const [, { type, ...place }, body] = input
    await world.send({ ...place, headers: ['Content-Type', type], body })
  }
  await turn()
  await sleep(5)
  delay.disable()
  return delay.max / 1e6
}

/** From `POST kill-switch` to its answer, which comes when the gateway has acknowledged. */
async function acknowledgements(rounds: number): Promise<Row[]> {
  const vendors = await startVendors()
  const manifests = vendors.manifests.replace(
    'metadata: { name: local }\nspec: {}',
    'metadata: { name: local }\nspec: { rateLimit: { requestsPerMinute: 1000000 } }',
  )
  const laptop = await startLaptop({ manifests: { 'vendors.yaml': manifests } })
  try {
    const delays: number[] = []
    for (let round = 0; round < rounds; round += 1) delays.push(await killUnderLoad(laptop))
    const each = sorted(delays)
    return [
      absolute(
        'B15',
        `kill switch while ${PARALLEL} inputs are read: answer p50, ms`,
        quantile(each, 0.5),
        null,
      ),
      absolute(
        'B15',
        `kill switch while ${PARALLEL} inputs are read: answer, slowest, ms`,
        each.at(-1) ?? 0,
        KILL_GOAL_MS,
      ),
    ]
  } finally {
    await laptop.stop()
    await vendors.recorder.close()
  }
}

async function killUnderLoad(laptop: Laptop): Promise<number> {
  const state = { isOver: false }
  const senders = Array.from({ length: PARALLEL }, (_, n) => sendUntil(laptop, n, state))
  await sleep(500)
  const startedAt = performance.now()
  const { status, body } = await laptop.api('POST', '/api/dashboard/kill-switch', {
    active: true,
    reason: 'bench',
  })
  const ms = performance.now() - startedAt
  if (status !== 200) throw new Error(`the kill switch was answered with ${status}: ${JSON.stringify(body)}`)
  state.isOver = true
  await Promise.all(senders)
  await laptop.api('POST', '/api/dashboard/kill-switch', { active: false })
  return ms
}

/** Sends hostile inputs one after the other, other ones than its neighbours. */
async function sendUntil(laptop: Laptop, first: number, state: { readonly isOver: boolean }): Promise<void> {
  const agent = testAgent(laptop)
  for (let n = first; !state.isOver; n += PARALLEL) {
    const input = HOSTILE_INPUTS[n % HOSTILE_INPUTS.length]
    if (input === undefined) return
    const [, { method, target, host, type }, body] = input
    const known = host === 'tools.example' ? 'mcp.tools.example' : host
    const socket = await agent.tunnel(known).catch(() => null)
    if (socket === null) continue
    const headers: [string, string][] = [
      ['Host', known],
      ['Content-Type', type],
    ]
    await sendRaw(socket, requestBytes(method, target, headers, body)).catch(() => undefined)
    socket.destroy()
  }
}

function sorted(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b)
}
