import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { listenDropsIn, NETWORK_COUNTERS } from '../../core/capture/listen-drops.ts'
import { POD_PORTS, PROBE_PORTS } from '../../core/capture/pod-contract.ts'
import { hasArrived, SOCKET_TABLES } from '../../core/capture/socket-table.ts'
import type { CapturedKind } from '../listener/captured/transparent.ts'

export type ProbeConnection = { readonly address: string; readonly port: number; readonly kind: CapturedKind }

/**
 * What became of one connection: it landed on our own listener, was refused, has no way out of here, could not be
 * sent because our source ports are taken, or left.
 */
export type ProbeOutcome = 'landed' | 'refused' | 'unreachable' | 'busy' | 'escaped'

export type ProbeConnections = {
  fire(shot: ProbeConnection): Promise<ProbeOutcome>
  /** For the listeners: true when the connection is a shot under way. */
  isShot(kind: CapturedKind, socket: Pick<Socket, 'remotePort'>): boolean
}

/** A lost first packet is sent once more after a second. */
const TIMEOUT_MS = 2_000
/** While listeners here let first packets fall, it is one of them: the kernel sends it again after 1, 3 and 7 seconds. */
const SWAMPED_MS = 8_000
const AGAIN_MS = 500
/** Between being connected and being seen by our own listener lies one turn of the event loop, not more. */
const SEEN_MS = 500
const PORTS = PROBE_PORTS.last - PROBE_PORTS.first + 1

/** Connections from the source ports that the rules treat like the agent's. */
export function createProbeConnections(): ProbeConnections {
  const expected = new Map<number, { readonly kind: CapturedKind; readonly landed: () => void }>()
  let fired = 0

  function fireOnce({ address, port, kind }: ProbeConnection): Promise<ProbeOutcome> {
    const localPort = PROBE_PORTS.first + (fired++ % PORTS)
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
    /** A port of ours that is taken says nothing about the rules: the next one is tried. */
    async fire(shot) {
      let outcome: ProbeOutcome = 'busy'
      for (let tries = 0; outcome === 'busy' && tries < PORTS; tries++) outcome = await fireOnce(shot)
      return outcome
    },
    isShot(kind, { remotePort }) {
      const shot = expected.get(remotePort ?? 0)
      if (shot?.kind !== kind) return false
      shot.landed()
      return true
    },
  }
}

/**
 * What our own listener has not shown us in time may still be with it: waiting in line, or turned away because an agent
 * holds every connection that there is. The kernel knows.
 */
async function whereIs(shot: {
  readonly kind: CapturedKind
  readonly localPort: number
}): Promise<ProbeOutcome> {
  const tables = await Promise.all(SOCKET_TABLES.map((path) => readFile(path, 'latin1').catch(noTable)))
  const isOurs = hasArrived(tables, { from: shot.localPort, acceptedOn: POD_PORTS[shot.kind] })
  return isOurs ? 'landed' : 'escaped'
}

/** The same of one that nobody has answered yet; null while its first packet may have fallen at our own listener. */
async function whereIsSilent(
  shot: Parameters<typeof whereIs>[0],
  isSwamped: () => Promise<boolean>,
): Promise<ProbeOutcome | null> {
  const outcome = await whereIs(shot)
  return outcome === 'escaped' && (await isSwamped()) ? null : outcome
}

/** Whether listeners have let first packets fall since now; false for good when that has gone on for long. */
function swampedSince(): () => Promise<boolean> {
  const began = performance.now()
  const before = listenDrops()
  return async () => performance.now() - began < SWAMPED_MS && (await listenDrops()) > (await before)
}

/** Of our own network; 0 where the kernel does not say. */
async function listenDrops(): Promise<number> {
  return listenDropsIn(await readFile(NETWORK_COUNTERS, 'latin1').catch(noTable))
}

/** A machine without IPv6 has no such table. */
function noTable(): string {
  return ''
}

function outcomeOf(error: Error): ProbeOutcome {
  const code = 'code' in error ? error.code : null
  if (code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL') return 'busy'
  return code === 'ENETUNREACH' || code === 'EHOSTUNREACH' ? 'unreachable' : 'refused'
}
