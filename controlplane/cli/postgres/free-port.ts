import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * First candidate port. It is below the ephemeral ports of Linux (32768) and macOS (49152) and below the node
 * ports of Kubernetes (30000). An ephemeral port is not suitable for two reasons. A restarted server needs
 * its previous port, but an ephemeral port may then be the local port of another connection. In addition, a
 * client that repeatedly connects to an ephemeral port of its own machine can connect to itself.
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
  throw new Error(
    `The embedded PostgreSQL found no free port on ${HOST}: ${ATTEMPTS} ports between ${FIRST} and ${END} are in use. Stop programs that listen there, or set DATABASE_URL.`,
  )
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
