import { type Client, type Destination, destinationsIn } from './socket-table.ts'

/**
 * Returns the original destination of a redirected connection; null if it is unknown. Rejects if the kernel's socket
 * tables cannot be read.
 */
export type Destinations = (client: Client) => Promise<Destination | null>

type Waiting = PromiseWithResolvers<Destination | null> & { readonly client: Client }

/**
 * Reads the kernel's tables once for all concurrent callers, one read at a time: the tables have a line for each socket
 * of the namespace, and an agent that floods its sidecar would cause thousands of reads. Each caller receives a read
 * that started after its call, so the read includes its client.
 */
export function createDestinations(read: () => Promise<readonly string[]>): Destinations {
  let waiting: Waiting[] = []
  let isReading = false

  async function readOn(): Promise<void> {
    isReading = true
    while (waiting.length > 0) {
      const asked = waiting
      waiting = []
      try {
        const found = destinationsIn(
          await read(),
          asked.map(({ client }) => client),
        )
        asked.forEach(({ resolve }, at) => {
          resolve(found[at] ?? null)
        })
      } catch (error) {
        for (const { reject } of asked) reject(error)
      }
    }
    isReading = false
  }

  return (client) => {
    const wait = { ...Promise.withResolvers<Destination | null>(), client }
    waiting.push(wait)
    if (!isReading) void readOn()
    return wait.promise
  }
}
