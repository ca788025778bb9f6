import { readFileSync } from 'node:fs'
import { testAgent } from '../../support/agent.ts'
import { eventually } from '../../support/eventually.ts'
import { type Laptop, startLaptop } from '../../support/laptop.ts'
import { cpuUs, descendant, rssMib } from '../../support/processes.ts'
import { openTunnel, type Target } from '../../support/tunnel.ts'
import type { Bench, BenchContext } from '../main.ts'
import { benchManifests, mcpManifests } from '../support/chaperone-subject.ts'
import { quantile } from '../support/load.ts'
import { median, untilQuiet } from '../support/measure.ts'
import { clientOn, type PlainClient, postRequest, sendAll } from '../support/plain-http.ts'
import { absolute, type Row } from '../support/report.ts'

const HOST = 'mcp.bench.example'
const LANES = 16
/** An agent may have 20 requests waiting. */
const PER_AGENT = 20

/** MCP `tools/call`: allowed, denied, and as many as wait for a person at once. CPU and memory are the gateway's. */
export const mcp: Bench = async (context) => {
  const manifests = {
    'bench.yaml': benchManifests(context.bed, ['llm_a.*']),
    'mcp.yaml': mcpManifests(context.bed),
  }
  const laptop = await startLaptop({ manifests })
  const pid = descendant(laptop.pid, 'sidecar/main')
  try {
    if (pid === null) throw new Error('the gateway process was not found')
    // Memory first: what the gateway has taken for ten thousand calls it would give to those that wait.
    const waiting = await held(laptop, pid, context)
    return [...(await decided(laptop, pid, context)), ...waiting]
  } finally {
    await laptop.stop()
  }
}

async function decided(laptop: Laptop, pid: number, { isQuick }: BenchContext): Promise<Row[]> {
  const target = targetOf(laptop)
  const [allow, deny]: [number[], number[]] = [[], []]
  const size = isQuick ? 1_500 : 6_000
  for (let round = 0; round <= 5; round += 1) {
    const a = await calls(target, { pid, size, tool: 'read_file', answer: '"result"' })
    const d = await calls(target, { pid, size, tool: 'drop_table', answer: '"error"' })
    // The first round warms up.
    if (round > 0) allow.push(a)
    if (round > 0) deny.push(d)
  }
  return [
    absolute('B6', 'tools/call allowed: CPU us', median(allow), null),
    {
      bench: 'B6',
      figure: 'tools/call denied: CPU us',
      ours: median(deny),
      peer: 'allowed',
      theirs: median(allow),
      goal: 1 / 4,
    },
  ]
}

type Calls = { readonly pid: number; readonly size: number; readonly tool: string; readonly answer: string }

async function calls(target: Target, { pid, size, tool, answer }: Calls): Promise<number> {
  const clients = await Promise.all(Array.from({ length: LANES }, () => openClient(target)))
  let left = size
  const before = cpuUs(pid)
  await Promise.all(
    clients.map(async (client) => {
      while (left > 0) {
        left -= 1
        const { body } = await client.send(toolCall(tool, left))
        if (!body.includes(answer)) throw new Error(`${tool} was answered ${body.slice(0, 400)}`)
      }
    }),
  )
  const us = (cpuUs(pid) - before) / size
  for (const client of clients) client.close()
  return us
}

async function held(laptop: Laptop, pid: number, { isQuick }: BenchContext): Promise<Row[]> {
  // A gateway has 1,000 connections; some are for those who ask and release.
  const count = isQuick ? 200 : 980
  await calls(targetOf(laptop), { pid, size: 500, tool: 'read_file', answer: '"result"' })
  // The records of these calls are still on their way.
  const plane = descendant(laptop.pid, 'controlplane/main')
  if (plane !== null) await untilQuiet(plane)
  const targets = await agents(laptop, count / PER_AGENT)
  const empty = rssMib(pid).now
  const clients = await inGroups(count, 25, (i) =>
    openClient(targets[i % targets.length] ?? targetOf(laptop)),
  )
  const connected = rssMib(pid).now
  const begun = performance.now()
  const answers = clients.map(callHeld)
  const ids = await Promise.race([pendingIds(laptop, count), earlyAnswer(answers)])
  const opened = performance.now() - begun
  const waiting = rssMib(pid).now
  const released = await releaseAll(laptop, ids)
  const all = await Promise.all(answers)
  const refused = all.find(({ isDone }) => !isDone)
  if (refused !== undefined) throw new Error(`a released call was answered ${refused.body.slice(0, 400)}`)
  for (const client of clients) client.close()
  const last = Math.max(...all.map(({ at }) => at))
  return [
    absolute('B6', `${count} held: KiB each, with its connection`, ((waiting - empty) * 1_024) / count, 64),
    absolute('B6', 'of it the waiting alone', ((waiting - connected) * 1_024) / count, null),
    absolute('B6', `${count} asked at once: ms until all of them wait`, opened, null),
    absolute(
      'B6',
      `last of ${count} answered: ms after the last release`,
      Math.max(0, last - released.lastAt),
      100,
    ),
    absolute('B6', 'releases: one by one, ms each (p50)', quantile(released.each, 0.5), null),
  ]
}

type Answered = { readonly at: number; readonly isDone: boolean; readonly body: string }

async function callHeld(client: PlainClient, n: number): Promise<Answered> {
  const { body } = await client.send(toolCall('hold_release', n))
  return { at: performance.now(), isDone: body.includes('"result"'), body }
}

async function earlyAnswer(answers: readonly Promise<Answered>[]): Promise<never> {
  const { body } = await Promise.race(answers)
  throw new Error(`a call was answered before its release: ${body.slice(0, 400)}`)
}

/** Each with a key of its own, so that the limit of waiting requests is not met. */
async function agents(laptop: Laptop, count: number): Promise<Target[]> {
  const made: Target[] = []
  for (let n = 0; n < count; n += 1) {
    const name = `bench-${n}`
    const { status, body } = await laptop.api('POST', '/api/dashboard/agents', {
      name,
      runtime: 'bench',
      environment: 'test',
    })
    if (status !== 200) throw new Error(`agent ${name}: ${JSON.stringify(body)}`)
    const basic = Buffer.from(`${name}:${String(body['api_key'])}`).toString('base64')
    const port = Number(new URL(laptop.ready.gateway_url).port)
    made.push({ ...targetOf(laptop), port, proxyAuthorization: `Basic ${basic}` })
  }
  const newest = made.at(-1)
  if (newest !== undefined) await eventually('the gateway knows all agents', () => isKnown(newest))
  return made
}

function isKnown(target: Target): Promise<boolean | null> {
  return openClient(target).then(
    (client) => {
      client.close()
      return true
    },
    () => null,
  )
}

async function pendingIds(laptop: Laptop, count: number): Promise<string[]> {
  const pending = async (limit: number, offset: number) => {
    const path = `/api/dashboard/proxy-approvals?status=pending&limit=${limit}&offset=${offset}`
    return (await laptop.api('GET', path)).body
  }
  // A page of 500 cards costs as much as 20 held requests, so only the total is asked for until all of them wait.
  await eventually(
    `${count} requests wait`,
    async () => (Number((await pending(1, 0))['total']) >= count ? true : null),
    60_000,
  )
  const ids: string[] = []
  for (let offset = 0; offset < count; offset += 500) {
    for (const { id } of (await pending(500, offset))['approvals'] as ReadonlyArray<{ id: string }>)
      ids.push(id)
  }
  return ids
}

async function releaseAll(laptop: Laptop, ids: readonly string[]) {
  const token = readFileSync(`${laptop.data}/admin.token`, 'utf8').trim()
  const requests = ids.map((id) =>
    postRequest('/api/dashboard/proxy-approvals', { id, approved: true }, token),
  )
  const each: number[] = []
  let lastAt = performance.now()
  await sendAll(Number(new URL(laptop.ready.base_url).port), 8, {
    requests,
    onAnswer: ({ status, body }) => {
      if (status !== 200) throw new Error(`a release was answered ${status}: ${body}`)
      const now = performance.now()
      each.push(now - lastAt)
      lastAt = now
    },
  })
  return { lastAt, each: each.sort((a, b) => a - b) }
}

async function inGroups<T>(count: number, size: number, make: (index: number) => Promise<T>): Promise<T[]> {
  const made: T[] = []
  while (made.length < count) {
    const from = made.length
    made.push(
      ...(await Promise.all(Array.from({ length: Math.min(size, count - from) }, (_, i) => make(from + i)))),
    )
  }
  return made
}

async function openClient(target: Target): Promise<PlainClient> {
  return clientOn(await openTunnel(target, HOST))
}

function targetOf(laptop: Laptop): Target {
  return testAgent(laptop).target
}

/** `Accept` has no event stream: a held call would be answered by events after a few seconds. */
function toolCall(name: string, n: number): string {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: n,
    method: 'tools/call',
    params: { name, arguments: { path: `/srv/files/${n}.txt`, note: 'x'.repeat(400) } },
  })
  return (
    `POST /mcp HTTP/1.1\r\nHost: ${HOST}\r\nContent-Type: application/json\r\nAccept: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  )
}
