const ATTEMPTS = 3

/**
 * Chooses ports and starts what listens on them. A port that was free when it was chosen may be somebody else's a moment
 * later: where `isChosen` (nobody asked for that port) others are tried, three times in all. Rejects with the last reason.
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
  return error instanceof Error && error.message.includes('EADDRINUSE')
}
