import { readFileSync } from 'node:fs'
import type { TrafficRecord } from '../../core/record.ts'
import { keyedAgent, type TestAgent } from './agent.ts'
import { eventually } from './eventually.ts'
import type { Laptop } from './laptop.ts'
import { sendRaw } from './raw-http.ts'
import { connectHead, openSocket } from './tunnel.ts'

/** The newest records in the gateway's own memory, newest first (at most 1,000). */
export async function newestRecords(laptop: Laptop, limit = 1_000): Promise<readonly TrafficRecord[]> {
  const token = readFileSync(`${laptop.data}/gateway.token`, 'utf8').trim()
  const answer = await fetch(`${laptop.ready.gateway_url}/internal/traffic?limit=${limit}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const body = (await answer.json()) as { traffic: readonly TrafficRecord[] }
  return body.traffic
}

/** So many names of one agent have a record of their own in an hour. */
const MARKS_OF_AGENT = 200
const AGENTS = 6
const markers = new WeakMap<Laptop, { readonly agents: readonly TestAgent[]; used: number }>()

/** All agents at once, before the first mark: the gateway records their first steps, too. */
async function marker(laptop: Laptop): Promise<TestAgent> {
  let known = markers.get(laptop)
  if (known === undefined) {
    const names = Array.from({ length: AGENTS }, (_, index) => `marks-${index}`)
    known = { agents: await Promise.all(names.map((name) => keyedAgent(laptop, name))), used: 0 }
    markers.set(laptop, known)
  }
  const agent = known.agents[Math.floor(known.used / MARKS_OF_AGENT)]
  known.used += 1
  if (agent === undefined) throw new Error(`there are more than ${AGENTS * MARKS_OF_AGENT} marks`)
  return agent
}

/** Leaves a record of a host that nobody owns and returns its name: what came before is older, what comes is newer. */
export async function leaveMark(laptop: Laptop): Promise<string> {
  const { target } = await marker(laptop)
  const host = `mark-${process.hrtime.bigint().toString(36)}.invalid`
  const socket = await openSocket(target.port)
  await sendRaw(socket, connectHead(target, `${host}:443`))
  socket.destroy()
  return host
}

/** For each mark the records between it and the next, oldest first; the last mark ends the list. */
export async function recordsBetween(
  laptop: Laptop,
  marks: readonly string[],
): Promise<ReadonlyMap<string, readonly TrafficRecord[]>> {
  const wanted = new Set(marks)
  const records = await eventually('a record for the last mark', async () => {
    const newest = await newestRecords(laptop)
    return newest.some(({ host }) => host === marks.at(-1)) ? [...newest] : null
  })
  // A record is written when the answer is out, by then the next request may be there: the number tells the order.
  records.sort((a, b) => a.seq - b.seq)
  const found = new Map<string, TrafficRecord[]>()
  let current: TrafficRecord[] = []
  for (const record of records) {
    if (record.host === null || !wanted.has(record.host)) current.push(record)
    else {
      current = []
      found.set(record.host, current)
    }
  }
  return found
}
