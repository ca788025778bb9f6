import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const VERSION = '4.32.5'

/** The program, or why it cannot be had on this machine. */
export type Schemathesis = { readonly program: string } | { readonly missing: string }

/** Installs Schemathesis from PyPI into the user's cache on first use: a virtual environment of its own. */
export async function installSchemathesis(): Promise<Schemathesis> {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const folder = join(cache, 'chaperone', `schemathesis-${VERSION}`)
  const program = join(folder, 'bin/schemathesis')
  // Written last: a folder without it is an installation that was interrupted.
  const complete = join(folder, 'complete')
  if (existsSync(complete)) return { program }
  try {
    const python = await findPython()
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(join(cache, 'chaperone'), { recursive: true })
    await run(python, ['-m', 'venv', folder])
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `schemathesis==${VERSION}`]
    await run(join(folder, 'bin/python'), pip)
    writeFileSync(complete, '')
    return { program }
  } catch (error) {
    return { missing: `Schemathesis cannot be installed: ${error instanceof Error ? error.message : error}` }
  }
}

async function findPython(): Promise<string> {
  for (const name of ['python3', 'python']) {
    const isGood = await run(name, [
      '-c',
      'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))',
    ]).then(
      () => true,
      () => false,
    )
    if (isGood) return name
  }
  throw new Error('there is no Python 3.10 or newer with venv on the PATH')
}

export type FuzzRun = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly excludedPaths: readonly string[]
  readonly maxSeconds: number
  readonly seed: number
}

export type FuzzReport = {
  /** Operations that were sent something. */
  readonly tested: number
  readonly cases: number
  /** One line each: what is wrong, and with which operations. */
  readonly failures: readonly string[]
  /** What the program said, without the tails of its longest lines. */
  readonly output: string
}

/** `/api/health` reports with 503 that a part is missing, and there is no gateway here. */
const CONFIG = `[[operations]]
include-path = "/api/health"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503]
`

/**
 * Lets it loose on every operation of the document; wrong is a 5xx, or a status that the document does not name.
 * One worker: what makes its values is not safe with several threads, and Python is no faster with them.
 */
export async function fuzz(program: string, given: FuzzRun): Promise<FuzzReport> {
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-fuzz-'))
  const report = join(folder, 'report.json')
  const config = join(folder, 'schemathesis.toml')
  writeFileSync(config, CONFIG)
  const args = [
    ...['--config-file', config, 'run', `${given.url}/api/openapi.json`, '--workers', '1', '--no-color'],
    ...['--checks', 'not_a_server_error,status_code_conformance', '--phases', 'coverage,fuzzing'],
    ...['--seed', String(given.seed), '--max-time', String(given.maxSeconds), '--max-examples', '10'],
    ...['--no-shrink', '--continue-on-failure', '--generation-database', 'none', '--request-timeout', '30'],
    ...['--warnings', 'off', '--report', 'json', '--report-json-path', report],
    ...given.excludedPaths.flatMap((path) => ['--exclude-path', path]),
    ...Object.entries(given.headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
  ]
  try {
    const done = await run(program, args, { cwd: folder, maxBuffer: 1 << 28 }).catch(
      (error: { stdout?: string; stderr?: string }) => ({
        stdout: error.stdout ?? '',
        stderr: error.stderr ?? '',
      }),
    )
    const output = `${done.stdout}${done.stderr}`
      .split('\n')
      .map((line) => line.slice(0, 600))
      .join('\n')
    if (!existsSync(report)) throw new Error(`Schemathesis wrote no report:\n${output}`)
    return { ...read(readFileSync(report, 'utf8')), output }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

type Report = {
  readonly operations: { readonly tested: number }
  readonly test_cases: { readonly generated: number }
  readonly failures: ReadonlyArray<{ readonly title: string; readonly operations: readonly string[] }>
  readonly errors: ReadonlyArray<{ readonly title: string; readonly count: number }>
}

function read(text: string): Omit<FuzzReport, 'output'> {
  const { operations, test_cases, failures, errors } = JSON.parse(text) as Report
  return {
    tested: operations.tested,
    cases: test_cases.generated,
    failures: [
      ...failures.map((failure) => `${failure.title}: ${failure.operations.join(', ')}`),
      ...errors.map((error) => `${error.title} (${error.count})`),
    ],
  }
}
