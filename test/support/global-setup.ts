import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { useCliProgram } from './cli-program.ts'
import { makeMemoryFolder } from './memory-folder.ts'

/**
 * Before the first test: the folder in memory, one bundle of each program, and the database that all others are copied
 * from. Four workers that find them missing would each make their own.
 */
export default function setup(): () => void {
  const program = join(import.meta.dirname, 'prepare.ts')
  const cli = execFileSync(process.execPath, [program], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  useCliProgram(cli)
  return makeMemoryFolder()
}
