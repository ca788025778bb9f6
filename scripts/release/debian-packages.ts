import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Architecture } from './architecture.ts'

export type DebianPackage = {
  readonly name: string
  readonly version: string
  readonly architecture: string
  /** The control file of the package (`deb-control(5)`), by which scanners of images identify the package. */
  readonly control: string
  readonly file: string
}

/**
 * Downloads Debian packages and all packages that they depend on into `folder`, and removes the previous content of the
 * folder. The packages come from the apt sources of this machine, and apt verifies them. Installs nothing. Throws if
 * the machine has no apt.
 */
export function downloadDebianPackages(
  architecture: Architecture,
  names: readonly string[],
  folder: string,
): readonly DebianPackage[] {
  rmSync(folder, { recursive: true, force: true })
  const [state, cache, status] = [join(folder, 'state'), join(folder, 'cache'), join(folder, 'status')]
  const archives = join(cache, 'archives')
  for (const path of [join(state, 'lists/partial'), join(archives, 'partial')])
    mkdirSync(path, { recursive: true })
  // The status file lists no installed packages, so that apt downloads all dependencies.
  writeFileSync(status, '')
  const options = [
    `APT::Architecture=${architecture}`,
    `APT::Architectures::=${architecture}`,
    `Dir::State=${state}`,
    `Dir::State::status=${status}`,
    `Dir::Cache=${cache}`,
    // By default, apt downloads as a user that may lack access to the folder.
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option])
  apt([...options, 'update'])
  apt([...options, 'install', '--download-only', '--no-install-recommends', '--yes', ...names])
  const files = readdirSync(archives).filter((name) => name.endsWith('.deb'))
  return files.sort().map((name) => readPackage(join(archives, name)))
}

/** Returns the content of a package as a tar archive. */
export function contentOf({ file }: DebianPackage): Buffer {
  return execFileSync('dpkg-deb', ['--fsys-tarfile', file], { maxBuffer: 1 << 29 })
}

function readPackage(file: string): DebianPackage {
  const control = execFileSync('dpkg-deb', ['--field', file], { encoding: 'utf8' })
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(control)?.[1] ?? ''
  return {
    name: field('Package'),
    version: field('Version'),
    architecture: field('Architecture'),
    control,
    file,
  }
}

function apt(args: readonly string[]): void {
  if (!existsSync('/usr/bin/apt-get'))
    throw new Error(
      'The image is made of Debian packages, and this machine has no apt-get. Run npm run release on Debian.',
    )
  execFileSync('apt-get', ['--quiet', '--quiet', ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
}
