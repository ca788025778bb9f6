import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { digest, madeOnce } from './cluster-template.ts'
import { PACKAGE_CACHE } from './package-cache.ts'

export type PythonEnvironment = {
  readonly python: string
  /** Folder of the installed packages. */
  readonly packages: string
}

/** Creates a Python virtual environment with these packages from PyPI. The environment is created once for all tests. */
export function pythonEnvironment(...packages: readonly string[]): PythonEnvironment {
  const version = execFileSync('python3', ['--version'], { encoding: 'utf8' })
  const make = (draft: string) => {
    execFileSync('python3', ['-m', 'venv', draft])
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
    execFileSync(join(draft, 'bin/python'), [...pip, ...packages], { stdio: 'ignore' })
  }
  const folder = madeOnce(`python-${digest(version + packages.join())}`, make, PACKAGE_CACHE)
  const [lib = ''] = readdirSync(join(folder, 'lib'))
  return { python: join(folder, 'bin/python'), packages: join(folder, 'lib', lib, 'site-packages') }
}
