import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { COMPILE_CACHE } from '../../controlplane/cli/compile-cache.ts'
import { useCliProgram } from './cli-program.ts'
import { makeMemoryFolder } from './memory-folder.ts'

/**
 * Runs before the first test. Creates the folder in memory, one bundle of each program, and the database that tests copy,
 * because each of the parallel workers would otherwise create its own.
 */
export default function setup(): () => void {
  // Workers and the programs that tests start inherit it. Compiling the packages takes a sixth of the time of loading them.
  process.env['NODE_COMPILE_CACHE'] ??= COMPILE_CACHE
  const program = join(import.meta.dirname, 'prepare.ts')
  const cli = execFileSync(process.execPath, [program], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  useCliProgram(cli)
  return makeMemoryFolder()
}
