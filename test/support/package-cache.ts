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

/**
 * Time limit in milliseconds of a hook that installs packages or compiles Go. On a new machine it downloads, and compiles the
 * standard library of Go, which took more than three minutes beside other work.
 */
export const INSTALL_TIMEOUT_MS = 600_000
