import type { Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { CapturedKind } from '../listener/captured/transparent.ts'
import type { Log } from '../process/log.ts'
import { createProbeConnections, type ProbeConnections, type ProbeOutcome } from './probe-connections.ts'

/**
 * `proven`: what an agent would send lands on our own listeners. `bypassed`: something got past them. `unproven`:
 * nothing got out, but nothing landed either (nobody listens, or the probe could not be sent).
 */
export type CaptureState = 'unproven' | 'proven' | 'bypassed'

export type Probe = {
  readonly state: CaptureState
  /** For the listeners: true when the connection is a probe under way. */
  isProbe(kind: CapturedKind, socket: Pick<Socket, 'remotePort'>): boolean
  /** Probes now and then every few seconds. Resolves with the first result. */
  start(): Promise<CaptureState>
  close(): void
}

export type ProbeDeps = {
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly onChange: (state: CaptureState) => void
  readonly everyMs?: number
}

const EVERY_MS = 2_500
/** Addresses for documentation and for packets to be thrown away: nobody is there, whatever the rules do. */
const OUTSIDE = { v4: '192.0.2.1', v6: '100::ffff' } as const

/**
 * Proves again and again that the rules hold, by doing what an agent would do: port 443 must land on our own
 * listener, and port 22 must land there, too, or be refused. Counters of the rules would need rights that a proxy
 * has no use for.
 */
export function createProbe({ log, onChange, everyMs = EVERY_MS }: ProbeDeps): Probe {
  const shots = createProbeConnections()
  let state: CaptureState = 'unproven'
  let timer: NodeJS.Timeout | null = null
  let isClosed = false

  async function check(): Promise<CaptureState> {
    const first = await lookAtAll(shots)
    // One lost packet is no hole: what looks like one is looked at again at once.
    const found = first === 'proven' ? first : await lookAtAll(shots)
    if (isClosed) return found
    if (found !== state) change(found)
    timer = setTimeout(() => void check(), everyMs).unref()
    return found
  }

  function change(found: CaptureState): void {
    state = found
    if (found === 'proven') log.info({ capture: found }, 'traffic is captured')
    else log.warn({ capture: found }, 'traffic is not captured')
    onChange(found)
  }

  return {
    get state() {
      return state
    },
    isProbe: shots.isShot,
    start: check,
    close() {
      isClosed = true
      if (timer !== null) clearTimeout(timer)
    },
  }
}

/** All at once: what is dropped in silence takes a second to tell. */
async function lookAtAll(shots: ProbeConnections): Promise<CaptureState> {
  const { v4, v6 } = outwardFamilies()
  const outside = [...(v4 ? [OUTSIDE.v4] : []), ...(v6 ? [OUTSIDE.v6] : [])]
  const all = await Promise.all(outside.map((address) => lookAt(shots, address)))
  const found = all.filter((one) => one !== null)
  if (found.includes('bypassed')) return 'bypassed'
  return found.length > 0 && found.every((one) => one === 'proven') ? 'proven' : 'unproven'
}

/** Null where there is no way out of here: nothing that is sent leaves. */
async function lookAt(shots: ProbeConnections, address: string): Promise<CaptureState | null> {
  const [web, shell] = await Promise.all([
    shots.fire({ address, port: 443, kind: 'tls' }),
    shots.fire({ address, port: 22, kind: 'other' }),
  ])
  return web === 'unreachable' ? null : judge(web, shell)
}

function judge(web: ProbeOutcome, shell: ProbeOutcome): CaptureState {
  if (web === 'escaped' || shell === 'escaped') return 'bypassed'
  const isShut = shell === 'landed' || shell === 'refused'
  return web === 'landed' && isShut ? 'proven' : 'unproven'
}

/** The families in which this machine has more than loopback and link-local addresses. */
export function outwardFamilies(): { readonly v4: boolean; readonly v6: boolean } {
  const outward = addresses().filter(({ internal, address }) => !internal && !/^fe80:/i.test(address))
  return {
    v4: outward.some(({ family }) => family === 'IPv4'),
    v6: outward.some(({ family }) => family === 'IPv6'),
  }
}

/** False where the kernel has no IPv6 at all. */
export function hasIpv6Loopback(): boolean {
  return addresses().some(({ address }) => address === '::1')
}

function addresses() {
  return Object.values(networkInterfaces()).flatMap((list) => list ?? [])
}
