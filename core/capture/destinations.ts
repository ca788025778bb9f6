import { type Client, type Destination, destinationsIn } from './socket-table.ts'

/** Null when it cannot be told. Rejects when the tables cannot be read. */
export type Destinations = (client: Client) => Promise<Destination | null>

type Waiting = PromiseWithResolvers<Destination | null> & { readonly client: Client }

/**
 * Reads the kernel's tables once for everybody who asks meanwhile, one reading after the other: they hold a line for
 * each socket of the namespace, and an agent that floods its sidecar would have it read them a thousand times at once.
 * Whoever asks gets a reading that began afterwards, so that the client is in it.
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
