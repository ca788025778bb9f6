import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Row } from './support/report.ts'
import { changesOf, printChanges, type Run, type Side } from './support/rounds.ts'

const HERE = join(import.meta.dirname, '../..')
const BENCHES = Array.from({ length: 15 }, (_, at) => `B${at + 1}`)
const TIMEOUT_MS = 1_800_000

const HELP = `node test/bench/compare.ts --other DIR [--rounds 5] [--results compare.json] [B1 B2 …]

Runs the benchmarks of this checkout and of another one in turns and compares the medians of the rounds. Both checkouts need
their packages (scripts/install.sh). Exit code 1: a figure is more than 5 % worse, or a run failed.`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    other: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    results: { type: 'string', default: 'compare.json' },
    help: { type: 'boolean', short: 'h' },
  },
})
const rounds = Number(values.rounds)
if (values.help || values.other === undefined || !Number.isInteger(rounds) || rounds < 1) {
  console.error(HELP)
  process.exit(values.help ? 0 : 2)
}

const folders: Readonly<Record<Side, string>> = { own: HERE, other: resolve(values.other) }
for (const folder of Object.values(folders)) {
  if (!existsSync(join(folder, 'node_modules/.bin/node')))
    throw new Error(`${folder} has no packages: run sh ${folder}/scripts/install.sh first`)
}
// Runs that failed are repeated.
const runs = earlierRuns(values.results).filter(({ rows }) => rows !== null)
for (let round = 1; round <= rounds; round++) {
  // The side that goes first may find the machine in another state.
  const sides: readonly Side[] = round % 2 === 1 ? ['other', 'own'] : ['own', 'other']
  for (const bench of positionals.length > 0 ? positionals : BENCHES) {
    for (const side of sides) {
      if (runs.some((run) => run.round === round && run.bench === bench && run.side === side)) continue
      runs.push({ round, bench, side, rows: measured(folders[side], bench) })
      writeFileSync(values.results, `${JSON.stringify(runs)}\n`)
    }
  }
}
const changes = changesOf(runs)
printChanges(changes)
const failed = runs.filter(({ rows }) => rows === null)
for (const { round, bench, side } of failed)
  console.log(`failed: ${bench} of ${folders[side]} in round ${round}`)
process.exitCode = failed.length > 0 || changes.some(({ isWorse }) => isWorse) ? 1 : 0

function earlierRuns(file: string): Run[] {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Run[]) : []
}

/** Null when the run failed; an empty list for a benchmark that the revision does not have. */
function measured(folder: string, bench: string): readonly Row[] | null {
  const file = join(folder, 'bench-results.json')
  rmSync(file, { force: true })
  console.error(`compare: ${bench} in ${folder} ...`)
  const path = `${join(folder, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`
  const { status, stderr } = spawnSync('node', ['test/bench/main.ts', bench, '--subjects', 'chaperone'], {
    cwd: folder,
    env: { ...process.env, PATH: path },
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: TIMEOUT_MS,
  })
  if (status === 0 && existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Row[]
  if (stderr.includes(`no bench ${bench}`)) return []
  console.error(stderr.split('\n').slice(-10).join('\n'))
  return null
}
