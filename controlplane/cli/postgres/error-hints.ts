/** What PostgreSQL's programs print when they fail, and what a person can do about it. */
const HINTS: ReadonlyArray<readonly [RegExp, string]> = [
  [/No space left on device/i, 'The disk is full: free some space, or choose another folder with --data.'],
  [
    /error while loading shared libraries|cannot open shared object/i,
    'Libraries of the bundled PostgreSQL are missing: run `npm rebuild`, or set DATABASE_URL to a PostgreSQL of your own.',
  ],
  [
    /database files are incompatible/i,
    'The folder was made by another major version of PostgreSQL: start with another --data, or use the Chaperone release that made it.',
  ],
  [/read-only file system/i, 'The folder is on a read-only file system: choose another one with --data.'],
  [
    /permission denied/i,
    'Give the folder to the user that PostgreSQL runs as, or choose another one with --data.',
  ],
  [
    /could not (create|map).*(shared memory|semaphores)/i,
    'The machine gives out no more shared memory: raise its limit (in a container: --shm-size), or set DATABASE_URL.',
  ],
]

/** The lines of an output that matter, and a hint when the cause is a known one. */
export function describeFailureOutput(output: string): string {
  const lines = output
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
  const errors = lines.filter((line) => /\b(FATAL|PANIC|ERROR|error|HINT|could not)\b/.test(line))
  const shown = (errors.length > 0 ? errors : lines).slice(-4)
  const hint = HINTS.find(([pattern]) => pattern.test(output))?.[1]
  return [...shown, ...(hint === undefined ? [] : [hint])].join('\n  ')
}

export function isPortTaken(output: string): boolean {
  return /Address already in use|could not bind/i.test(output)
}
