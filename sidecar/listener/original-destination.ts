import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { type Destination, destinationIn, SOCKET_TABLES } from '../../core/capture/socket-table.ts'

/**
 * Where a redirected connection was meant to go. Node cannot ask the kernel for SO_ORIGINAL_DST, but the client's own
 * socket is in the same network namespace, and the kernel's table of sockets shows it. Null when it cannot be told.
 */
export async function originalDestination(
  { remoteAddress, remotePort, localPort }: Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>,
  tables: readonly string[] = SOCKET_TABLES,
): Promise<Destination | null> {
  if (remoteAddress === undefined || remotePort === undefined || localPort === undefined) return null
  const texts = await Promise.all(tables.map((path) => readFile(path, 'latin1')))
  return destinationIn(texts, { address: remoteAddress, port: remotePort, acceptedOn: localPort })
}
