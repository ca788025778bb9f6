import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const PYTHON = '/usr/bin/python3'
const PACKAGES = ['requests==2.34.2', 'httpx==0.28.1', 'aiohttp==3.14.1', 'grpcio==1.82.0']

export function hasProgram(program: string): boolean {
  if (program.startsWith('/')) return existsSync(program)
  return (process.env['PATH'] ?? '').split(':').some((dir) => existsSync(join(dir, program)))
}

/** Installs the Python packages to `to`, through a cache of the user. Rejects with the output of pip. */
export async function pythonPackages(to: string): Promise<void> {
  const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'chaperone')
  const folder = join(cache, `python-clients-${PACKAGES.join('-').replace(/[a-z=]+/g, '')}`)
  const complete = join(folder, 'complete')
  if (!existsSync(complete)) {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(cache, { recursive: true })
    await run(PYTHON, ['-m', 'venv', join(folder, 'venv')])
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
    await run(join(folder, 'venv/bin/python'), [...pip, '--target', join(folder, 'packages'), ...PACKAGES])
    writeFileSync(complete, '')
  }
  // Readable by the agent's user.
  cpSync(join(folder, 'packages'), to, { recursive: true })
}

/** Compiles one file and returns the path of the program. */
export function compiled(
  dir: string,
  file: string,
  source: string,
  compiler: (file: string, out: string) => readonly [string, readonly string[]],
): string {
  mkdirSync(dir, { recursive: true })
  const path = join(dir, file)
  const out = join(dir, `${file.replace(/\W/g, '-')}-program`)
  writeFileSync(path, source)
  const [program, args] = compiler(path, out)
  execFileSync(program, args)
  return out
}
