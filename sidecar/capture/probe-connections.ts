import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { listenDropsIn, NETWORK_COUNTERS } from '../../core/capture/listen-drops.ts'
import { POD_PORTS, PROBE_PORTS } from '../../core/capture/pod-contract.ts'
import { hasArrived, SOCKET_TABLES } from '../../core/capture/socket-table.ts'
import type { CapturedKind } from '../listener/captured/transparent.ts'

export type ProbeConnection = {
  readonly address: string
  readonly port: number
  readonly kind: CapturedKind
  /** True if the rules drop the connection, so that a connection without a reply counts as refused. */
  readonly isClosed?: boolean
}

/**
 * Outcome of one probe connection. `landed`: our listener accepted the connection. `refused`: the connection was
 * refused. `unreachable`: there was no route. `busy`: the source ports of the probe were in use. `escaped`: the
 * connection left the machine.
 */
export type ProbeOutcome = 'landed' | 'refused' | 'unreachable' | 'busy' | 'escaped'

export type ProbeConnections = {
  connect(target: ProbeConnection): Promise<ProbeOutcome>
  /** Returns true when the accepted connection is a probe in flight. */
  isProbe(kind: CapturedKind, socket: Pick<Socket, 'remotePort'>): boolean
}

/** Time limit of a connection attempt in milliseconds. The kernel retransmits a lost SYN after 1 s. */
const TIMEOUT_MS = 2_000
/**
 * Time limit in milliseconds of a connection attempt while local listeners drop SYNs, because the dropped SYN may be
 * that of the probe. The kernel retransmits after 1, 3 and 7 s.
 */
const SWAMPED_MS = 8_000
const AGAIN_MS = 500
/**
 * Time limit in milliseconds for our listener to accept an established connection. The listener usually accepts within
 * one turn of the event loop.
 */
const SEEN_MS = 500
const PORTS = PROBE_PORTS.last - PROBE_PORTS.first + 1

/** Opens connections from the source ports that the redirect rules treat like traffic of the agent. */
export function createProbeConnections(): ProbeConnections {
  const expected = new Map<number, { readonly kind: CapturedKind; readonly landed: () => void }>()
  let attempts = 0

  function connectOnce({ address, port, kind, isClosed = false }: ProbeConnection): Promise<ProbeOutcome> {
    const localPort = PROBE_PORTS.first + (attempts++ % PORTS)
    const isSwamped = swampedSince()
    return new Promise((resolve) => {
      const socket = connect({ host: address, port, localPort, allowHalfOpen: true })
      let isConnected = false
      let isOver = false
      const finish = (outcome: ProbeOutcome): void => {
        if (isOver) return
        isOver = true
        expected.delete(localPort)
        clearTimeout(late)
        socket.destroy()
        resolve(outcome)
      }
      const judge = (): void => void whereIs({ kind, localPort }).then(finish)
      const judgeSilence = async (): Promise<void> => {
        const outcome = await whereIsSilent({ kind, localPort, isClosed }, isSwamped)
        if (isOver || isConnected) return
        if (outcome === null) late = setTimeout(judgeSilence, AGAIN_MS)
        else finish(outcome)
      }
      let late = setTimeout(judgeSilence, TIMEOUT_MS)
      expected.set(localPort, { kind, landed: () => finish('landed') })
      socket.on('error', (error) => finish(outcomeOf(error)))
      socket.on('connect', () => {
        isConnected = true
        clearTimeout(late)
        late = setTimeout(judge, SEEN_MS)
      })
    })
  }

  return {
    /**
     * Connects from the next free source port. A port that is in use reveals nothing about the rules, so the function
     * tries the next port.
     */
    async connect(target) {
      let outcome: ProbeOutcome = 'busy'
      for (let tries = 0; outcome === 'busy' && tries < PORTS; tries++) outcome = await connectOnce(target)
      return outcome
    },
    isProbe(kind, { remotePort }) {
      const target = expected.get(remotePort ?? 0)
      if (target?.kind !== kind) return false
      target.landed()
      return true
    },
  }
}

/**
 * Determines the outcome of a connection that our listener has not accepted in time. Returns `escaped` when the
 * connection left the machine. Otherwise returns `landed`: the connection may be in the backlog of the listener, or the
 * listener rejected it because an agent holds all connections. The socket tables of the kernel distinguish these cases.
 */
async function whereIs(target: {
  readonly kind: CapturedKind
  readonly localPort: number
}): Promise<ProbeOutcome> {
  const tables = await Promise.all(SOCKET_TABLES.map((path) => readFile(path, 'latin1').catch(noTable)))
  const isOurs = hasArrived(tables, { from: target.localPort, acceptedOn: POD_PORTS[target.kind] })
  return isOurs ? 'landed' : 'escaped'
}

/**
 * Returns the outcome of a connection attempt without a reply. Returns null while our own listener may have dropped the
 * SYN of the attempt.
 */
async function whereIsSilent(
  target: Parameters<typeof whereIs>[0] & { readonly isClosed: boolean },
  isSwamped: () => Promise<boolean>,
): Promise<ProbeOutcome | null> {
  if (target.isClosed) return 'refused'
  const outcome = await whereIs(target)
  return outcome === 'escaped' && (await isSwamped()) ? null : outcome
}

/**
 * Returns a function that reports whether listeners have dropped SYNs since `swampedSince` was called. `SWAMPED_MS`
 * after that call, the result is always false, so that the wait for the probe ends.
 */
function swampedSince(): () => Promise<boolean> {
  const began = performance.now()
  const before = listenDropsNow()
  return async () => {
    const text = await readFile(NETWORK_COUNTERS, 'latin1').catch(noTable)
    return performance.now() - began < SWAMPED_MS && listenDropsIn(text) > before
  }
}

/**
 * Returns the number of SYNs dropped in this network namespace; 0 where the kernel does not report it. The read is
 * synchronous: in a busy process, an asynchronous read could end after the SYN of the probe was dropped, and the number
 * would then include that SYN.
 */
function listenDropsNow(): number {
  try {
    return listenDropsIn(readFileSync(NETWORK_COUNTERS, 'latin1'))
  } catch {
    return 0
  }
}

/** Returns the empty content of a kernel table that cannot be read, for example because IPv6 is disabled. */
function noTable(): string {
  return ''
}

function outcomeOf(error: Error): ProbeOutcome {
  const code = 'code' in error ? error.code : null
  if (code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL') return 'busy'
  return code === 'ENETUNREACH' || code === 'EHOSTUNREACH' ? 'unreachable' : 'refused'
}
