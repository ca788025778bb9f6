/** One thing that was looked at. `mend` is the line that puts it right. */
export type Check = {
  readonly name: string
  readonly state: 'ok' | 'warning' | 'problem'
  readonly found: string
  readonly mend?: string
}

export function ok(name: string, found: string): Check {
  return { name, state: 'ok', found }
}

export function warning(name: string, found: string, mend: string): Check {
  return { name, state: 'warning', found, mend }
}

export function problem(name: string, found: string, mend: string): Check {
  return { name, state: 'problem', found, mend }
}

/** A check that throws has found something too. */
export async function guarded(
  name: string,
  mend: string,
  look: () => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  try {
    return await look()
  } catch (error) {
    return [
      problem(name, error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error), mend),
    ]
  }
}
