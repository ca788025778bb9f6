import { freePort } from '../../../controlplane/cli/postgres/free-port.ts'
import { syncKeyOf } from '../../../controlplane/crypto/tokens.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import { type Served, serve } from '../../support/processes.ts'
import { type DurableBed, startPlane } from '../support/durable-bed.ts'

const DRIVER = new URL('./stream-driver.ts', import.meta.url).pathname
/** Streams of one driver process: more than that, and the driver is the slower side. */
const STREAMS_PER_DRIVER = 2_500
/** The control plane closes connections beyond 2,000 of one Gateway. */
export const STREAMS_PER_GATEWAY = 1_000

export type FleetSize = { readonly streams: number; readonly replicas: number }
export type Counts = {
  readonly greeted: number
  readonly inForce: number
  readonly refused: number
  readonly bytes: number
  readonly fetched: number
}

/** Starts a replica of the control plane at a fixed port, so that its successor after a crash has the same address. */
export function startReplica(bed: DurableBed, port: number): Promise<Served> {
  return startPlane(bed, bed.postgres.url, { PORT: String(port) })
}

export async function freePorts(count: number): Promise<readonly number[]> {
  return Promise.all(Array.from({ length: count }, () => freePort()))
}

export async function startDrivers(
  bed: DurableBed,
  ports: readonly number[],
  { streams }: FleetSize,
): Promise<Drivers> {
  const tokens = await makeGateways(bed, Math.ceil(streams / STREAMS_PER_GATEWAY))
  const sizes: number[] = []
  for (let left = streams; left > 0; left -= STREAMS_PER_DRIVER)
    sizes.push(Math.min(left, STREAMS_PER_DRIVER))
  const served: Served[] = []
  for (const [n, size] of sizes.entries()) {
    const env = { PORTS: ports.join(','), TOKENS: tokens.join(','), STREAMS: String(size) }
    served.push(await serve(DRIVER, { ...env, FROM: String(n * STREAMS_PER_DRIVER) }))
  }
  return driversOf(served)
}

/** Stores so many Gateways, `bench-0` and so on, and returns their tokens. */
async function makeGateways({ sql }: DurableBed, count: number): Promise<readonly string[]> {
  const made = Array.from({ length: count }, (_, n) => ({
    name: `default/bench-${n}`,
    token: `gateway-token-${n}`,
  }))
  const rows = made.map(({ name, token }) => ({
    name,
    token: sha256(token).toString('hex'),
    key: syncKeyOf(token).toString('hex'),
  }))
  await sql.query(
    `insert into gateways (id, org_id, name, host, port, spec, token_sha256, sync_key, source)
     select 'gw_' || replace(g.name, '/', '_'), l.org_id, g.name, l.host, l.port, l.spec, decode(g.token, 'hex'),
       decode(g.key, 'hex'), 'api'
     from gateways l, jsonb_to_recordset($1::jsonb) as g(name text, token text, key text)
     where l.name = 'default/local'`,
    [JSON.stringify(rows)],
  )
  await sql.query('update config_version set version = version + 1')
  return made.map(({ token }) => token)
}

/** All driver processes as one. Times are in ns of the monotonic clock, which all processes of a machine share. */
export type Drivers = {
  readonly served: readonly Served[]
  /** Resolves when every stream reached the state after `sinceNs`, with the time of the last one. */
  all(what: 'greeted' | 'inForce', sinceNs: bigint): Promise<bigint>
  /** Resolves with the time at which each stream received a kill state with, or without, kill switches. */
  heard(isStopped: boolean): Promise<readonly bigint[]>
  counts(): Promise<Counts>
}

type Message = { readonly type: string; readonly at: string | readonly string[] }

function driversOf(served: readonly Served[]): Drivers {
  const last = served.map(() => new Map<string, bigint>())
  const waits = new Set<() => void>()
  for (const [n, { child }] of served.entries()) {
    child.on('message', ({ type, at }: Message) => {
      if (typeof at !== 'string') return
      last[n]?.set(type, BigInt(at))
      for (const wait of [...waits]) wait()
    })
  }
  return {
    served,
    all(what, sinceNs) {
      return new Promise((resolve) => {
        const check = (): void => {
          const times = last.map((each) => each.get(what) ?? 0n)
          if (times.some((at) => at <= sinceNs)) return
          waits.delete(check)
          resolve(times.reduce((a, b) => (a > b ? a : b)))
        }
        waits.add(check)
        check()
      })
    },
    async heard(isStopped) {
      const each = served.map(async (one) => {
        const reply = answer<{ at: readonly string[] }>(one, 'heard')
        one.child.send({ type: 'expect', stopped: isStopped })
        return (await reply).at.map(BigInt)
      })
      return (await Promise.all(each)).flat()
    },
    async counts() {
      const each = await Promise.all(
        served.map((one) => {
          const reply = answer<Counts>(one, 'counts')
          one.child.send({ type: 'counts' })
          return reply
        }),
      )
      const sum = (of: (counts: Counts) => number) => each.reduce((total, one) => total + of(one), 0)
      return {
        greeted: sum(({ greeted }) => greeted),
        inForce: sum(({ inForce }) => inForce),
        refused: sum(({ refused }) => refused),
        bytes: sum(({ bytes }) => bytes),
        fetched: sum(({ fetched }) => fetched),
      }
    },
  }
}

function answer<T>({ child }: Served, type: string): Promise<T> {
  return new Promise((resolve) => {
    const onMessage = (message: Message): void => {
      if (message.type !== type) return
      child.off('message', onMessage)
      resolve(message as T)
    }
    child.on('message', onMessage)
  })
}
