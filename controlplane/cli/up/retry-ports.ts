import { StartFailure } from '../programs/child-process.ts'

const ATTEMPTS = 3

/**
 * Chooses ports and starts the processes that listen on them. Retries with other ports, up to three attempts, when
 * another program takes a port between these two steps. Rejects with the last error.
 *
 * @param isChosen True if the program chose the ports. When the user chose the ports, the start is not retried.
 */
export async function startOnPorts<P, S>(
  isChosen: boolean,
  choose: () => Promise<P>,
  start: (ports: P) => Promise<S>,
): Promise<{ readonly ports: P; readonly started: S }> {
  for (let attempt = 1; ; attempt++) {
    const ports = await choose()
    try {
      return { ports, started: await start(ports) }
    } catch (error) {
      if (!isChosen || attempt === ATTEMPTS || !isTaken(error)) throw error
    }
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof StartFailure && error.systemCode === 'EADDRINUSE'
}
