import { StartFailure } from '../programs/child-process.ts'

const ATTEMPTS = 3

/**
 * Chooses ports and starts the processes that listen on them. Retries with other ports, up to three attempts, when another
 * program takes a port between both steps. Rejects with the last error.
 *
 * @param isChosen Whether the ports were chosen here and not by the user; otherwise there is no retry.
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
