import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'

/** A loopback port of this machine, and the Unix socket that forwards to the port from another network namespace. */
export type LocalPort = { readonly port: number; readonly path: string }

export type LocalPorts = { readonly ports: readonly LocalPort[]; close(): void }

/**
 * Opens one Unix socket for each loopback port, in a new folder in `dir`. Each command may use only its own ports, so
 * `dir` must be masked for all captured commands, including those of other runs.
 */
export async function openLocalPorts(dir: string, ports: readonly number[]): Promise<LocalPorts> {
  if (ports.length === 0) return { ports: [], close: () => undefined }
  const folder = mkdtempSync(join(dir, 'l-'))
  const servers: Server[] = []
  const close = () => {
    for (const server of servers) server.close()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const opened: LocalPort[] = []
    for (const port of ports) {
      const path = join(folder, String(port))
      servers.push(await relay({ path }, () => connect({ host: 'localhost', port, allowHalfOpen: true })))
      opened.push({ port, path })
    }
    return { ports: opened, close }
  } catch (error) {
    close()
    throw error
  }
}

/**
 * Listens on these ports inside the network namespace, on the given loopback address. Forwards each connection to the
 * Unix socket of its port.
 */
export function serveLocalPorts(ports: readonly LocalPort[], host: string): Promise<Server[]> {
  return Promise.all(
    ports.map(({ port, path }) => relay({ host, port }, () => connect({ path, allowHalfOpen: true }))),
  )
}

type Place = { readonly path: string } | { readonly host: string; readonly port: number }

function relay(place: Place, dial: () => Socket): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    client.on('error', () => client.destroy())
    pipeSockets(client, dial())
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(place, () => resolve(server))
  })
}

/** Pipes two sockets into each other. Closes each socket when the other closes. */
export function pipeSockets(client: Socket, server: Socket): void {
  server.on('error', () => server.destroy())
  client.on('close', () => server.destroy())
  server.on('close', () => client.destroySoon())
  client.pipe(server)
  server.pipe(client)
}
