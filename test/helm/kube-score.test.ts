import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { goProgram } from '../support/go-program.ts'
import { CHART, helmProgram, LEAST, template } from './chart.ts'

const kubeScore = goProgram('kube-score', 'github.com/zegl/kube-score/cmd/kube-score@v1.20.0')

type Score = { readonly object_name: string; readonly checks: readonly Check[] }
type Check = {
  readonly check: { readonly name: string }
  /** 10: correct; 7: almost; 5: a warning; 1: critical. */
  readonly grade: number
  readonly skipped: boolean
  readonly comments: ReadonlyArray<{ readonly path: string; readonly summary: string }> | null
}

function scores(program: string, manifests: string): readonly Score[] {
  try {
    return parsed(execFileSync(program, ['score', '--output-format', 'json', '-'], options(manifests)))
  } catch (error) {
    // kube-score exits with 1 when it has a critical finding.
    return parsed((error as { readonly stdout: string }).stdout)
  }
}

const options = (input: string) => ({ input, encoding: 'utf8', stdio: 'pipe', maxBuffer: 1 << 26 }) as const
const parsed = (text: string) => JSON.parse(text) as readonly Score[]

const critical = (program: string, manifests: string) =>
  scores(program, manifests).flatMap(({ object_name, checks }) =>
    checks
      .filter(({ grade, skipped }) => grade === 1 && !skipped)
      .map(({ check, comments }) => `${object_name}: ${check.name} ${comments?.[0]?.summary ?? ''}`),
  )

/** Values that render what the values for production leave out. */
const OPTIONAL = [
  'controlPlane.publicUrl=https://chaperone.example.com',
  ...['controlPlane.ingress.enabled=true', 'controlPlane.ingress.tlsSecret=dashboard'],
  'postgres.bundled=true',
  'monitoring.enabled=true',
]

/** Findings about the bundled PostgreSQL, which is for evaluation. */
const OF_POSTGRES = [
  // Its official image has the user 999, and does not start as a user without a name.
  'Container Security Context User Group ID The container is running with a low user ID',
  // Nothing connects to a replica by its name. The address of a Service cannot be removed by an upgrade.
  'StatefulSet has ServiceName StatefulSet does not have a valid serviceName',
]

describe.skipIf(helmProgram === null || !kubeScore.isAvailable)(
  'kube-score (helm, go; built by test:nightly)',
  () => {
    test('has no critical finding about the values for production', async () => {
      const program = await kubeScore.install()
      const production = join(CHART, 'values.production.yaml')
      expect(critical(program, await template(...LEAST, '-f', production))).toEqual([])
      const more = OPTIONAL.flatMap((value) => ['--set', value])
      const found = critical(program, await template('-f', production, ...more))
      expect(found.map((each) => each.replace(/^.*chaperone-postgres: /, '')).toSorted()).toEqual(OF_POSTGRES)
      // The default values have some, so that the comparison above can fail.
      expect(critical(program, await template(...LEAST))).not.toEqual([])
    }, 900_000)
  },
)
