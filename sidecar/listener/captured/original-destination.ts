import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { createDestinations } from '../../../core/capture/destinations.ts'
import { type Destination, SOCKET_TABLES } from '../../../core/capture/socket-table.ts'

type Accepted = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>

/**
 * Where a redirected connection was meant to go. Node cannot ask the kernel for SO_ORIGINAL_DST, but the client's own
 * socket is in the same network namespace, and the kernel's table of sockets shows it. Null when it cannot be told.
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
