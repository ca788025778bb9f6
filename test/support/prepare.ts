import { type BundledProgram, programBundle } from '../../controlplane/cli/programs/program-bundle.ts'
import { bundleCli } from './cli-program.ts'
import { migratedCluster } from './cluster-template.ts'

const PROGRAMS: readonly BundledProgram[] = ['controlplane', 'operator', 'sidecar']

/**
 * Prepares a test run in a process of its own, because `import.meta.resolve` does not work in the global setup of vitest.
 * Prints the path of the bundled command line tool.
 */
const [cli] = await Promise.all([
  bundleCli(),
  migratedCluster(),
  ...PROGRAMS.map((program) => programBundle(program, (line) => void process.stderr.write(`${line}\n`))),
])
process.stdout.write(cli)
