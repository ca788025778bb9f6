import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { hasCommand } from '../support/has-command.ts'
import { IS_FULL } from '../support/proof.ts'
import { CHART, helmProgram, LEAST, template } from './chart.ts'

const FOLDER = join(import.meta.dirname, '../../node_modules/.cache/kube-score')
const PROGRAM = join(FOLDER, 'kube-score')
const MODULE = 'github.com/zegl/kube-score/cmd/kube-score@v1.20.0'

/** Builds the program, which takes two minutes of CPU time. Later runs of this checkout use the same program. */
async function build(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true })
  const env = { ...process.env, GOBIN: FOLDER, GOFLAGS: '-p=1' }
  await promisify(execFile)('go', ['install', MODULE], { env, cwd: FOLDER })
}

type Score = { readonly object_name: string; readonly checks: readonly Check[] }
type Check = {
  readonly check: { readonly name: string }
  /** 10: correct; 7: almost; 5: a warning; 1: critical. */
  readonly grade: number
  readonly skipped: boolean
  readonly comments: ReadonlyArray<{ readonly path: string; readonly summary: string }> | null
}

function scores(manifests: string): readonly Score[] {
  try {
    return parsed(execFileSync(PROGRAM, ['score', '--output-format', 'json', '-'], options(manifests)))
  } catch (error) {
    // kube-score exits with 1 when it has a critical finding.
    return parsed((error as { readonly stdout: string }).stdout)
  }
}

const options = (input: string) => ({ input, encoding: 'utf8', stdio: 'pipe', maxBuffer: 1 << 26 }) as const
const parsed = (text: string) => JSON.parse(text) as readonly Score[]

const critical = (manifests: string) =>
  scores(manifests).flatMap(({ object_name, checks }) =>
    checks
      .filter(({ grade, skipped }) => grade === 1 && !skipped)
      .map(({ check, comments }) => `${object_name}: ${check.name} ${comments?.[0]?.summary ?? ''}`),
  )

const canRun = helmProgram !== null && (existsSync(PROGRAM) || (IS_FULL && hasCommand('go')))

describe.skipIf(!canRun)('kube-score (helm, go; built by test:nightly)', () => {
  test('has no critical finding about the values for production', async () => {
    if (!existsSync(PROGRAM)) await build()
    const production = join(CHART, 'values.production.yaml')
    expect(critical(await template(...LEAST, '-f', production))).toEqual([])
    // The default values have some, so that the comparison above can fail.
    expect(critical(await template(...LEAST))).not.toEqual([])
  }, 900_000)
})
