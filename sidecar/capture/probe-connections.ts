import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { listenDropsIn, NETWORK_COUNTERS } from '../../core/capture/listen-drops.ts'
import { POD_PORTS, PROBE_PORTS } from '../../core/capture/pod-contract.ts'
import { hasArrived, SOCKET_TABLES } from '../../core/capture/socket-table.ts'
import type { CapturedKind } from '../listener/captured/transparent.ts'

export type ProbeConnection = { readonly address: string; readonly port: number; readonly kind: CapturedKind }

/**
 * Outcome of one connection: it reached our listener (`landed`), was refused, had no route (`unreachable`), found our
 * source ports in use (`busy`), or left the machine (`escaped`).
 */
export type ProbeOutcome = 'landed' | 'refused' | 'unreachable' | 'busy' | 'escaped'

export type ProbeConnections = {
  connect(target: ProbeConnection): Promise<ProbeOutcome>
  /** Returns true when the accepted connection is a probe in flight. */
  isProbe(kind: CapturedKind, socket: Pick<Socket, 'remotePort'>): boolean
}

/** The kernel retransmits a lost SYN after 1 s. */
const TIMEOUT_MS = 2_000
/**
 * While local listeners drop SYNs, the probe may be one of the dropped. The kernel retransmits after 1, 3 and 7 s.
 */
const SWAMPED_MS = 8_000
const AGAIN_MS = 500
/** Our listener accepts within one turn of the event loop after the handshake. */
const SEEN_MS = 500
const PORTS = PROBE_PORTS.last - PROBE_PORTS.first + 1

/** Opens connections from the source ports that the rules treat like traffic of the agent. */
export function createProbeConnections(): ProbeConnections {
  const expected = new Map<number, { readonly kind: CapturedKind; readonly landed: () => void }>()
  let attempts = 0

  function connectOnce({ address, port, kind }: ProbeConnection): Promise<ProbeOutcome> {
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
        const outcome = await whereIsSilent({ kind, localPort }, isSwamped)
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
    /** A source port in use says nothing about the rules; tries the next port. */
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
 * A connection that our listener has not accepted in time may still be in its backlog, or rejected because an agent
 * holds all connections. The socket tables of the kernel decide.
 */
async function whereIs(target: {
  readonly kind: CapturedKind
  readonly localPort: number
}): Promise<ProbeOutcome> {
  const tables = await Promise.all(SOCKET_TABLES.map((path) => readFile(path, 'latin1').catch(noTable)))
  const isOurs = hasArrived(tables, { from: target.localPort, acceptedOn: POD_PORTS[target.kind] })
  return isOurs ? 'landed' : 'escaped'
}

/** The same for a connection without a reply. Null while our own listener may have dropped its SYN. */
async function whereIsSilent(
  target: Parameters<typeof whereIs>[0],
  isSwamped: () => Promise<boolean>,
): Promise<ProbeOutcome | null> {
  const outcome = await whereIs(target)
  return outcome === 'escaped' && (await isSwamped()) ? null : outcome
}

/**
 * Resolves with true if listeners have dropped SYNs since the call; false once the drops have continued for too long.
 */
function swampedSince(): () => Promise<boolean> {
  const began = performance.now()
  const before = listenDrops()
  return async () => performance.now() - began < SWAMPED_MS && (await listenDrops()) > (await before)
}

/** Counts drops in this network namespace; 0 where the kernel does not report them. */
async function listenDrops(): Promise<number> {
  return listenDropsIn(await readFile(NETWORK_COUNTERS, 'latin1').catch(noTable))
}

/** IPv6 is disabled: the table does not exist. */
function noTable(): string {
  return ''
}

function outcomeOf(error: Error): ProbeOutcome {
  const code = 'code' in error ? error.code : null
  if (code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL') return 'busy'
  return code === 'ENETUNREACH' || code === 'EHOSTUNREACH' ? 'unreachable' : 'refused'
}
