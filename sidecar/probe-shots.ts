import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { POD_PORTS, PROBE_PORTS } from '../core/capture/pod-contract.ts'
import { hasAccepted, SOCKET_TABLES } from '../core/capture/socket-table.ts'
import type { CapturedKind } from './listener/transparent.ts'

export type Shot = { readonly address: string; readonly port: number; readonly kind: CapturedKind }

/**
 * What became of one connection: it landed on our own listener, was refused, has no way out of here, could not be
 * sent because our source ports are taken, or left.
 */
export type ShotOutcome = 'landed' | 'refused' | 'unreachable' | 'busy' | 'escaped'

export type Shots = {
  fire(shot: Shot): Promise<ShotOutcome>
  /** For the listeners: true when the connection is a shot under way. */
  isShot(kind: CapturedKind, socket: Pick<Socket, 'remotePort'>): boolean
}

/** A listener that is swamped lets a first packet fall; the kernel sends the next after a second. */
const TIMEOUT_MS = 2_000
/** Between being connected and being seen by our own listener lies one turn of the event loop, not more. */
const SEEN_MS = 500
const PORTS = PROBE_PORTS.last - PROBE_PORTS.first + 1

/** Connections from the source ports that the rules treat like the agent's. */
export function createShots(): Shots {
  const expected = new Map<number, { readonly kind: CapturedKind; readonly landed: () => void }>()
  let fired = 0

  function fireOnce({ address, port, kind }: Shot): Promise<ShotOutcome> {
    const localPort = PROBE_PORTS.first + (fired++ % PORTS)
    return new Promise((resolve) => {
      const socket = connect({ host: address, port, localPort, allowHalfOpen: true })
      const finish = (outcome: ShotOutcome): void => {
        expected.delete(localPort)
        clearTimeout(late)
        socket.destroy()
        resolve(outcome)
      }
      const judge = (): void => void whereIs({ kind, localPort }).then(finish)
      let late = setTimeout(judge, TIMEOUT_MS)
      expected.set(localPort, { kind, landed: () => finish('landed') })
      socket.on('error', (error) => finish(outcomeOf(error)))
      socket.on('connect', () => {
        clearTimeout(late)
        late = setTimeout(judge, SEEN_MS)
      })
    })
  }

  return {
    /** A port of ours that is taken says nothing about the rules: the next one is tried. */
    async fire(shot) {
      let outcome: ShotOutcome = 'busy'
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
}): Promise<ShotOutcome> {
  const tables = await Promise.all(SOCKET_TABLES.map((path) => readFile(path, 'latin1').catch(noTable)))
  const isOurs = hasAccepted(tables, { from: shot.localPort, acceptedOn: POD_PORTS[shot.kind] })
  return isOurs ? 'landed' : 'escaped'
}

/** A machine without IPv6 has no such table. */
function noTable(): string {
  return ''
}

function outcomeOf(error: Error): ShotOutcome {
  const code = 'code' in error ? error.code : null
  if (code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL') return 'busy'
  return code === 'ENETUNREACH' || code === 'EHOSTUNREACH' ? 'unreachable' : 'refused'
}
