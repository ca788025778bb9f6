import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { createDestinations } from '../../../core/capture/destinations.ts'
import { type Destination, SOCKET_TABLES } from '../../../core/capture/socket-table.ts'

type Accepted = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>

/**
 * Creates the function that returns the original destination of a redirected connection; null when it cannot be
 * determined. Node cannot read SO_ORIGINAL_DST, but the client's socket is in the same network namespace, and thus in
 * the kernel's socket table.
 */
export function createOriginalDestination(
  tables: readonly string[] = SOCKET_TABLES,
): (socket: Accepted) => Promise<Destination | null> {
  const destinationOf = createDestinations(() => Promise.all(tables.map((path) => readFile(path, 'latin1'))))
  return async ({ remoteAddress, remotePort, localPort }) => {
    if (remoteAddress === undefined || remotePort === undefined || localPort === undefined) return null
    return destinationOf({ address: remoteAddress, port: remotePort, acceptedOn: localPort })
  }
}
