import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * Folder of the packages of npm and PyPI that tests install: outside of the checkout, so that a fresh checkout does not install
 * them again, which takes a minute. Other accounts, which cannot enter the home of root, run programs from it.
 */
export const PACKAGE_CACHE = join(
  process.getuid?.() === 0 ? '/var/cache' : (process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')),
  'chaperone-tests',
)
