import { type ExecFileSyncOptions, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentProgram } from './program.ts'

const CACHE = new URL('../../node_modules/.cache/chaperone/agents/', import.meta.url).pathname

/** Installs the packages of a program into a folder of the cache, or brings the folder up to date. */
export function installNewest({ packages }: AgentProgram): string {
  const folder = join(CACHE, packages.names.join('+').replace(/[^\w+.-]+/g, '-'))
  mkdirSync(folder, { recursive: true })
  INSTALL[packages.registry](folder, packages.names)
  return folder
}

const INSTALL = {
  npm: (folder: string, names: readonly string[]) => {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts']
    execute('npm', ['install', '--prefix', folder, ...quiet, ...names.map(newest)])
  },
  pypi: (folder: string, names: readonly string[]) => {
    const python = join(folder, 'bin/python')
    if (!existsSync(python)) execute('python3', ['-m', 'venv', folder])
    execute(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--upgrade', ...names])
  },
  go: (folder: string, [module = '', version = '', program = '']: readonly string[]) => {
    writeFileSync(join(folder, 'go.mod'), 'module programs\n')
    const options = { cwd: folder, env: { ...process.env, GOFLAGS: '-mod=mod' } }
    execute('go', ['mod', 'edit', `-require=${module}@${version}`], options)
    execute('go', ['build', '-o', join(folder, 'bin/'), `${module}/${program}`], options)
  },
}

/** `@` also begins the scope of a name. */
const newest = (name: string): string => (name.lastIndexOf('@') > 0 ? name : `${name}@latest`)

function execute(program: string, args: readonly string[], options: ExecFileSyncOptions = {}): void {
  execFileSync(program, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
}
