import type { Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { CapturedKind } from '../listener/captured/transparent.ts'
import type { Log } from '../process/log.ts'
import { createProbeConnections, type ProbeConnections, type ProbeOutcome } from './probe-connections.ts'

/**
 * `proven`: traffic of the agent reaches our listeners. `bypassed`: a connection left the machine without reaching our
 * listeners. `unproven`: neither was observed (no listener, or the probe could not be sent).
 */
export type CaptureState = 'unproven' | 'proven' | 'bypassed'

export type Probe = {
  readonly state: CaptureState
  /** Returns true when the accepted connection is a probe in flight. */
  isProbe(kind: CapturedKind, socket: Pick<Socket, 'remotePort'>): boolean
  /** Starts probing immediately, and repeats it periodically. Resolves with the first result. */
  start(): Promise<CaptureState>
  close(): void
}

export type ProbeDeps = {
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly onChange: (state: CaptureState) => void
  /**
   * True when the capture rules drop IPv6. A dropped connection attempt gets no answer, and neither does an attempt
   * that leaves the machine, because no host has the probed address. Over IPv6 only a connection that is accepted
   * elsewhere then counts as a bypass.
   */
  readonly isIpv6Closed?: boolean
  readonly everyMs?: number
}

const EVERY_MS = 2_500
/**
 * Destinations of the probe: documentation (RFC 5737) and discard (RFC 6666) addresses. No host answers at these
 * addresses, with or without redirect rules.
 */
const OUTSIDE = { v4: '192.0.2.1', v6: '100::ffff' } as const

/**
 * Verifies periodically that the redirect rules are in effect, by connecting as the agent would: port 443 must reach
 * our listener, and port 22 must reach it or be refused. Reading the counters of the rules would require privileges
 * that a proxy should not have.
 */
export function createProbe({ log, onChange, isIpv6Closed = false, everyMs = EVERY_MS }: ProbeDeps): Probe {
  const connections = createProbeConnections()
  let state: CaptureState = 'unproven'
  let timer: NodeJS.Timeout | null = null
  let isClosed = false

  async function check(): Promise<CaptureState> {
    const first = await probeAll(connections, isIpv6Closed)
    // A negative result is verified by a second probe, because one lost packet is not a bypass.
    const found = first === 'proven' ? first : await probeAll(connections, isIpv6Closed)
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
    isProbe: connections.isProbe,
    start: check,
    close() {
      isClosed = true
      if (timer !== null) clearTimeout(timer)
    },
  }
}

/** Probes all addresses in parallel, because a silently dropped connection takes seconds to detect. */
async function probeAll(connections: ProbeConnections, isIpv6Closed: boolean): Promise<CaptureState> {
  const { v4, v6 } = outwardFamilies()
  const all = await Promise.all([
    v4 ? probeAddress(connections, OUTSIDE.v4) : null,
    v6 && !isIpv6Closed ? probeAddress(connections, OUTSIDE.v6) : null,
    v6 && isIpv6Closed ? probeClosed(connections, OUTSIDE.v6) : null,
  ])
  const found = all.filter((one) => one !== null)
  if (found.includes('bypassed')) return 'bypassed'
  return found.length > 0 && found.every((one) => one === 'proven') ? 'proven' : 'unproven'
}

/** Probes one address. Returns null without a route to it, because no packet then leaves the machine. */
async function probeAddress(connections: ProbeConnections, address: string): Promise<CaptureState | null> {
  const [web, shell] = await Promise.all([
    connections.connect({ address, port: 443, kind: 'tls' }),
    connections.connect({ address, port: 22, kind: 'other' }),
  ])
  return web === 'unreachable' ? null : judge(web, shell)
}

/**
 * Probes an address of a family (IPv4 or IPv6) that the capture rules drop. Returns null without a bypass, because a
 * missing answer does not prove that the rules are in effect.
 */
async function probeClosed(connections: ProbeConnections, address: string): Promise<CaptureState | null> {
  const outcome = await connections.connect({ address, port: 443, kind: 'tls', isClosed: true })
  return outcome === 'escaped' ? 'bypassed' : null
}

function judge(web: ProbeOutcome, shell: ProbeOutcome): CaptureState {
  if (web === 'escaped' || shell === 'escaped') return 'bypassed'
  const isShut = shell === 'landed' || shell === 'refused'
  return web === 'landed' && isShut ? 'proven' : 'unproven'
}

/** Returns the address families in which the machine has an address other than loopback and link-local ones. */
export function outwardFamilies(): { readonly v4: boolean; readonly v6: boolean } {
  const outward = addresses().filter(({ internal, address }) => !internal && !/^fe80:/i.test(address))
  return {
    v4: outward.some(({ family }) => family === 'IPv4'),
    v6: outward.some(({ family }) => family === 'IPv6'),
  }
}

/** Returns false when the kernel has no IPv6. */
export function hasIpv6Loopback(): boolean {
  return addresses().some(({ address }) => address === '::1')
}

function addresses() {
  return Object.values(networkInterfaces()).flatMap((list) => list ?? [])
}
