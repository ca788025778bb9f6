import { readFileSync } from 'node:fs'
import type { TrafficRecord } from '../../core/record.ts'
import { keyedAgent, type TestAgent } from './agent.ts'
import { eventually } from './eventually.ts'
import type { Laptop } from './laptop.ts'
import { sendRaw } from './raw-http.ts'
import { connectHead, openSocket } from './tunnel.ts'

/** Returns the newest records in the gateway's memory, newest first. The gateway keeps at most 1,000. */
export async function newestRecords(laptop: Laptop, limit = 1_000): Promise<readonly TrafficRecord[]> {
  const token = readFileSync(`${laptop.data}/gateway.token`, 'utf8').trim()
  const answer = await fetch(`${laptop.ready.gateway_url}/internal/traffic?limit=${limit}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const body = (await answer.json()) as { traffic: readonly TrafficRecord[] }
  return body.traffic
}

/**
 * Number of hosts for which the gateway writes individual records for one agent in an hour. Further records are aggregated.
 */
const MARKS_OF_AGENT = 200
const AGENTS = 6
const markers = new WeakMap<Laptop, { readonly agents: readonly TestAgent[]; used: number }>()

/**
 * Returns the agent that sends the next mark. Creates all agents before the first mark, because the gateway also records
 * their first requests.
 */
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

/**
 * Sends a request to a unique host that no connector owns, and returns the host. The record of that request separates earlier
 * records from later records.
 */
export async function leaveMark(laptop: Laptop): Promise<string> {
  const { target } = await marker(laptop)
  const host = `mark-${process.hrtime.bigint().toString(36)}.invalid`
  const socket = await openSocket(target.port)
  await sendRaw(socket, connectHead(target, `${host}:443`))
  socket.destroy()
  return host
}

/** Returns, for each mark, the records between that mark and the next, oldest first. The last mark must be the newest. */
export async function recordsBetween(
  laptop: Laptop,
  marks: readonly string[],
): Promise<ReadonlyMap<string, readonly TrafficRecord[]>> {
  const wanted = new Set(marks)
  const records = await eventually('a record for the last mark', async () => {
    const newest = await newestRecords(laptop)
    return newest.some(({ host }) => host === marks.at(-1)) ? [...newest] : null
  })
  // Sorts by sequence number, because the gateway writes a record after the response, when the next request may have arrived.
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
