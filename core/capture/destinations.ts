import { type Client, type Destination, destinationsIn } from './socket-table.ts'

/**
 * Returns the original destination of a redirected connection; null if it is unknown. Rejects if the kernel's socket
 * tables cannot be read.
 */
export type Destinations = (client: Client) => Promise<Destination | null>

type Waiting = PromiseWithResolvers<Destination | null> & { readonly client: Client }

/**
 * Creates a function that reads the kernel's socket tables once for all concurrent calls, and never reads twice at the
 * same time. The tables have a line for each socket of the network namespace, so one read per call would be too
 * expensive if an agent floods its sidecar with connections. Each call gets the result of a read that started after the
 * call, so the result includes the client of the call.
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
