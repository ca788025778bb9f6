import type { Socket } from 'node:net'
import { HandOver, MAX_HAND_OVER_BYTES } from '../../core/capture/hand-over.ts'
import type { AddressPool } from './address-pool.ts'
import type { FrontDeps } from './deps.ts'
import type { DnsStream } from './dns.ts'
import { type Captured, createTransparent, type TransparentDeps } from './transparent.ts'

export type HandedOverDeps = FrontDeps & {
  readonly isOpaque: TransparentDeps['isOpaque']
  readonly pool: AddressPool
  readonly dns: DnsStream
}

/**
 * Serves connections that were redirected in another network namespace and handed over on a Unix socket
 * (`core/capture/hand-over.ts`). Who may write to the socket may speak for any agent, as on the agents' own ports.
 */
export function createHandedOver(deps: HandedOverDeps): (captured: Captured) => void {
  return (captured) => {
    readFirstLine(captured, deps.limits.headTimeoutMs, (line) => {
      const what = line === null ? null : parse(line)
      if (what === null) {
        deps.log.warn({}, 'a connection was handed over without saying whose it is')
        captured.socket.destroy()
      } else if (what.kind === 'dns') deps.dns(captured.socket)
      else serve(deps, captured, { ...what, kind: what.kind })
    })
  }
}

function serve(
  deps: HandedOverDeps,
  captured: Captured,
  { agent, kind, destination }: HandOver & { readonly kind: 'tls' | 'http' | 'other' },
): void {
  const at = destination && { host: deps.pool.nameOf(destination.address), port: destination.port }
  const transparent = createTransparent({
    ...deps,
    agent,
    destinationOf: async () => at,
    isProbe: () => false,
  })
  transparent(kind, captured)
}

/** Calls `done` once, with the socket paused and the rest of the bytes put back; null for a line that is none. */
function readFirstLine(
  { socket, lifeline }: Captured,
  timeoutMs: number,
  done: (line: string | null) => void,
): void {
  let bytes: Buffer = Buffer.alloc(0)
  const finish = (line: string | null): void => {
    socket.removeListener('data', onData)
    socket.removeListener('close', onClose)
    socket.pause()
    lifeline.rest()
    done(line)
  }
  const onClose = (): void => finish(null)
  const onData = (chunk: Buffer): void => {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
    const end = bytes.indexOf(10)
    if (end === -1) {
      if (bytes.length > MAX_HAND_OVER_BYTES) finish(null)
      return
    }
    if (end + 1 < bytes.length) putBack(socket, bytes.subarray(end + 1))
    finish(bytes.toString('utf8', 0, end))
  }
  socket.on('data', onData)
  socket.on('close', onClose)
  lifeline.arm(timeoutMs, () => finish(null))
  socket.resume()
}

function putBack(socket: Socket, rest: Buffer): void {
  socket.pause()
  socket.unshift(rest)
}

function parse(line: string): HandOver | null {
  try {
    const parsed = HandOver.safeParse(JSON.parse(line))
    return parsed.success ? parsed.data : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
