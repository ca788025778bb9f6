import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Lines of the shell blocks in a section of a document, without comments. */
function commandsIn(text: string, heading: string): readonly string[] {
  const section = text.split(new RegExp(`^#+ ${heading}\n`, 'm'))[1]?.split(/^#+ /m)[0] ?? ''
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
    .flatMap(([, block = '']) => block.trim().split('\n'))
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '')
}

/** The first governed call by the commands of the README, in their order of use. */
export function readmeCommands(root: string): readonly string[] {
  const text = readFileSync(join(root, 'README.md'), 'utf8')
  const [start = '', ...rest] = commandsIn(text, 'Two commands')
  const credential = /`(\.\/scripts\/chaperone\.sh credential set llm-b)`/.exec(text)?.[1] ?? ''
  return [start, credential, ...rest]
}

const QUICKSTARTS = ['Claude Code', 'Codex', 'LangGraph'] as const

/** The commands of the quickstarts of agent programs, behind `npm start`. */
export function quickstartCommands(root: string): readonly string[] {
  const text = readFileSync(join(root, 'docs/quickstarts.md'), 'utf8')
  const [, ...common] = commandsIn(text, 'Quickstarts')
  return [...common, ...QUICKSTARTS.flatMap((heading) => commandsIn(text, heading))]
}
