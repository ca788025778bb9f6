import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * First candidate port, below the ephemeral ports of Linux (32768) and macOS (49152) and the node ports of Kubernetes
 * (30000). Ephemeral ports are not suitable: a restarted server needs its previous port, which may then be the local
 * port of another connection, and a client that repeatedly connects to an ephemeral port on the same machine can even
 * connect to itself.
 */
const FIRST = 20_000
const END = 30_000
const ATTEMPTS = 50
const HOST = '127.0.0.1'

/** Returns a free port of 127.0.0.1 outside the ephemeral range. */
export async function freePort(): Promise<number> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const port = randomInt(FIRST, END)
    if (await isFree(port)) return port
  }
  throw new Error(`no free port on ${HOST}: ${ATTEMPTS} ports between ${FIRST} and ${END} are in use`)
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, HOST)
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
    throw error
  }
  server.close()
  await once(server, 'close')
  return true
}
