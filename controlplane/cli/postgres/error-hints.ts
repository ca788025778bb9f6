/** Remedies for errors of PostgreSQL programs. Each remedy applies to error output that matches its pattern. */
const HINTS: ReadonlyArray<readonly [RegExp, string]> = [
  [/No space left on device/i, 'The disk is full. Free some space, or choose another folder with --data.'],
  [
    /error while loading shared libraries|cannot open shared object/i,
    'Libraries of the bundled PostgreSQL are missing. Run `npm rebuild`, or set DATABASE_URL to your own PostgreSQL.',
  ],
  [
    /database files are incompatible/i,
    'The folder was created by another major version of PostgreSQL. Choose another folder with --data, or use the release of Chaperone that created it.',
  ],
  [/read-only file system/i, 'The file system is read-only. Choose another folder with --data.'],
  [
    /permission denied/i,
    'Change the owner of the folder to the user that runs PostgreSQL, or choose another folder with --data.',
  ],
  [
    /could not (create|map).*(shared memory|semaphores)/i,
    'Shared memory is exhausted. Raise its limit (in a container: --shm-size), or set DATABASE_URL.',
  ],
]

/** Returns the relevant lines of the error output of a PostgreSQL program, and a remedy for a known cause. */
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
