import { existsSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { usageError } from '../arguments.ts'
import { type Command, EXIT, flag, type Invocation, text } from '../command.ts'

const NAMES = ['control-plane', 'gateway', 'manifests', 'postgres'] as const

export const logs: Command = {
  name: 'logs',
  summary: "Print the logs of the installation's processes",
  usage: ['logs [control-plane|gateway|manifests|postgres] [-f] [--lines N]'],
  maxArguments: 1,
  options: {
    follow: { type: 'boolean', short: 'f', help: 'print new lines as they are written' },
    lines: { type: 'string', value: 'N', help: 'number of last lines (default 50)' },
  },
  examples: [
    ['chaperone logs', 'print the last lines of every log'],
    ['chaperone logs gateway -f', 'follow the log of the gateway'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const count = lineCount(invocation)
  const files = chosenLogs(invocation)
  const { print } = invocation.terminal
  const asJson = flag(invocation, 'json')
  // With `--json`, every log line is printed as a string, because lines of PostgreSQL are not JSON.
  const printerOf = (log: string) => (line: string) => print(asJson ? JSON.stringify({ log, line }) : line)
  for (const { name, file } of files) {
    if (files.length > 1 && !asJson) print(`==> ${name} <==`)
    for (const line of await lastLines(file, count)) printerOf(name)(line)
  }
  if (flag(invocation, 'follow'))
    await Promise.all(files.map(({ name, file }) => follow(file, printerOf(name))))
  return EXIT.ok
}

function chosenLogs(invocation: Invocation): ReadonlyArray<{ name: string; file: string }> {
  const [name] = invocation.positionals
  if (name !== undefined && !NAMES.some((known) => known === name)) {
    throw usageError(logs, `${name} is not one of ${NAMES.join(', ')}.`)
  }
  // `invocation.folder` is read only after the check of the arguments, because this getter locates the data folder
  // and may throw.
  const { folder } = invocation
  const files = (name === undefined ? NAMES : [name])
    .map((each) => ({ name: each, file: join(folder.logs, `${each}.log`) }))
    .filter(({ file }) => existsSync(file))
  if (files.length > 0) return files
  throw new ChaperoneError('not_found', {
    detail: `There are no logs in ${folder.logs}, because Chaperone has not been started there.`,
  })
}

function lineCount(invocation: Invocation): number {
  const count = Number(text(invocation, 'lines') ?? 50)
  if (!Number.isInteger(count) || count < 0) throw usageError(logs, '--lines must be a whole number.')
  return count
}

async function lastLines(file: string, count: number): Promise<string[]> {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
  return count === 0 ? [] : lines.slice(-count)
}

/** Follows a log file until the command is interrupted. A file that shrinks was rotated, and is read from its start. */
async function follow(file: string, print: (line: string) => void): Promise<never> {
  let offset = (await readFile(file)).length
  let rest = ''
  for (;;) {
    await sleep(250)
    const handle = await open(file)
    const { size } = await handle.stat()
    if (size < offset) offset = 0
    const bytes = Buffer.alloc(size - offset)
    await handle.read(bytes, 0, bytes.length, offset)
    await handle.close()
    offset = size
    const lines = (rest + bytes.toString('utf8')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) print(line)
  }
}
