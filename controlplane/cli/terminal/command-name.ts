import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shellQuote } from './shell-quote.ts'

/** What to type for `chaperone`: an installed program has that name, in a checkout it is the script. */
export function commandName(cwd: string, self = import.meta.url): string {
  if (!self.endsWith('.ts')) return 'chaperone'
  const script = fileURLToPath(new URL('../../../scripts/chaperone.sh', self))
  const path = relative(cwd, script)
  return shellQuote(path.startsWith('../..') ? script : `./${path}`)
}
