/** Result of one check of `chaperone doctor`. `remedy` is a command or a change that fixes the finding. */
export type Check = {
  readonly name: string
  readonly state: 'ok' | 'warning' | 'problem'
  readonly found: string
  readonly remedy?: string
}

export function ok(name: string, found: string): Check {
  return { name, state: 'ok', found }
}

export function warning(name: string, found: string, remedy: string): Check {
  return { name, state: 'warning', found, remedy }
}

export function problem(name: string, found: string, remedy: string): Check {
  return { name, state: 'problem', found, remedy }
}

/** Runs checks. Returns a thrown error as a problem with the given name and remedy. */
export async function guarded(
  name: string,
  remedy: string,
  run: () => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  try {
    return await run()
  } catch (error) {
    return [
      problem(name, error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error), remedy),
    ]
  }
}
