import { execFile } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { hasCommand } from './has-command.ts'
import { IS_FULL } from './proof.ts'

const FOLDER = join(import.meta.dirname, '../../node_modules/.cache/go-programs')

/** A program of a Go module, which is compiled once for each checkout. */
export type GoProgram = {
  /** Whether the program exists, or can be compiled in this run (`CHAPERONE_PROOF=full`). */
  readonly isAvailable: boolean
  /** Compiles the program if it does not exist. Resolves with its path. */
  install(): Promise<string>
}

/** `module`: path of the main package with its version. Compiling may take minutes of CPU time, so only full runs do it. */
export function goProgram(name: string, module: string): GoProgram {
  const file = join(FOLDER, name)
  return {
    isAvailable: existsSync(file) || (IS_FULL && hasCommand('go')),
    async install() {
      if (existsSync(file)) return file
      mkdirSync(FOLDER, { recursive: true })
      const env = { ...process.env, GOBIN: FOLDER, GOFLAGS: '-p=1' }
      await promisify(execFile)('go', ['install', module], { env, cwd: FOLDER })
      return file
    },
  }
}
