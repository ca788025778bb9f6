import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const VERSION = '4.32.5'

/** Path of Schemathesis, or the reason for which it is missing on this machine. */
export type Schemathesis = { readonly program: string } | { readonly missing: string }

/** Installs Schemathesis from PyPI on first use, into a virtual environment in the user's cache folder. */
export async function installSchemathesis(): Promise<Schemathesis> {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const folder = join(cache, 'chaperone', `schemathesis-${VERSION}`)
  const program = join(folder, 'bin/schemathesis')
  // Marker file that is written last. A folder without the marker is an interrupted installation.
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
  /** Number of operations to which Schemathesis sent requests. */
  readonly tested: number
  readonly cases: number
  /** One line for each failure, with the affected operations. */
  readonly failures: readonly string[]
  /** Output of Schemathesis, with long lines truncated to 600 characters. */
  readonly output: string
}

/**
 * Configuration of Schemathesis. `/api/health` responds with 503 when a component is missing, and this test has no gateway.
 */
const CONFIG = `[[operations]]
include-path = "/api/health"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503]
`

/**
 * Tests every operation of the OpenAPI document with generated requests. A failure is a 5xx status, or a status that the
 * document does not name. Schemathesis runs with one worker, because its data generators are not thread-safe, and Python is
 * no faster with several threads.
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
