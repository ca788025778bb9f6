import { accessSync, closeSync, constants, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { searchPath } from './agent-environment.ts'

const FIRST_LINE_BYTES = 256
/** Matches shells. A shell script is often the wrapper of a version manager that starts the actual program. */
const SHELL = /^(ba|da|k|z|a)?sh$/

/**
 * Returns the runtime of a command. For a script, the runtime is the interpreter (`python3` for every version of
 * Python). For a shell script and for any other file, the runtime is the name of the file. Returns null when the
 * command is not found.
 */
export function commandRuntime(command: string, env: NodeJS.ProcessEnv): string | null {
  const file = fileOf(command, env)
  if (file === null) return null
  const interpreter = interpreterIn(firstLine(file))
  return nameOf(interpreter === null || SHELL.test(interpreter) ? basename(file) : interpreter)
}

function fileOf(command: string, env: NodeJS.ProcessEnv): string | null {
  const candidates = command.includes('/') ? [command] : searchPath(env).map((dir) => join(dir, command))
  const found = candidates.find(isExecutable)
  return found === undefined ? null : realpathSync(found)
}

/**
 * Returns the interpreter of a shebang line: `#!/path/to/PROGRAM …` or `#!/usr/bin/env [-S] [NAME=VALUE] PROGRAM …`.
 */
function interpreterIn(line: string): string | null {
  const [program = '', ...words] = /^#!\s*(.*)/.exec(line)?.[1]?.trim().split(/\s+/) ?? []
  if (program === '') return null
  if (basename(program) !== 'env') return basename(program)
  return basename(words.find((word) => !word.startsWith('-') && !word.includes('=')) ?? '')
}

function nameOf(program: string): string {
  if (/^python[\d.]*$/.test(program)) return 'python3'
  return program === 'nodejs' ? 'node' : program
}

function firstLine(file: string): string {
  const bytes = Buffer.alloc(FIRST_LINE_BYTES)
  try {
    const descriptor = openSync(file, 'r')
    try {
      return bytes.toString('latin1', 0, readSync(descriptor, bytes)).split('\n')[0] ?? ''
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    // The user may be permitted to execute the file but not to read it.
    if (error instanceof Error && 'code' in error) return ''
    throw error
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch (error) {
    if (error instanceof Error && 'code' in error) return false
    throw error
  }
}
