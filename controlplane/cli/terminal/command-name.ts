import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shellQuote } from './shell-quote.ts'

/**
 * Returns the command line that runs this program in the working directory: `chaperone` if the program is installed,
 * otherwise the script in the checkout.
 */
export function commandName(cwd: string, self = import.meta.url): string {
  if (!self.endsWith('.ts')) return 'chaperone'
  const script = fileURLToPath(new URL('../../../scripts/chaperone.sh', self))
  const path = relative(cwd, script)
  return shellQuote(path.startsWith('..') ? script : `./${path}`)
}
