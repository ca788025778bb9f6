import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below what Linux (32768), macOS (49152) and the node ports of Kubernetes (30000) hand out. A server that is restarted on its
 * port must find it free: one out of the system's range may by then be the local port of anybody's connection, and a
 * client that tries again and again on the same machine can even connect to itself.
 */
const FIRST = 20_000
const END = 30_000
const ATTEMPTS = 50
const HOST = '127.0.0.1'

/** A port of 127.0.0.1 that was free a moment ago, and that the system gives to nobody by itself. */
export async function freePort(): Promise<number> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const port = randomInt(FIRST, END)
    if (await isFree(port)) return port
  }
  throw new Error(`${ATTEMPTS} ports of ${HOST} between ${FIRST} and ${END} were tried; all are taken`)
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
