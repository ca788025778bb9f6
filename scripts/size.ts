import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Prints the number of lines of the tracked text files by kind and folder: all lines, and code lines, which are neither
 * blank nor only a comment. A file is generated if one of its first five lines names `npm run generate`.
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const COUNTED = new Set(
  '.ts .tsx .cjs .mjs .css .html .sql .sh .yaml .tpl .json .jsonc .md .py .go .java .tsv'.split(' '),
)
const COMMENT = /^(\/\/|\/\*|\*|#|--|<!--)/
const KINDS = ['product', 'documentation', 'tests', 'test data', 'generated'] as const
type Kind = (typeof KINDS)[number]
type Size = { files: number; lines: number; code: number }

const sizes = new Map<string, Size>()
for (const path of trackedFiles()) {
  const lines = readFileSync(join(root, path), 'utf8').trimEnd().split('\n')
  const isCode = (line: string) => line !== '' && (path.endsWith('.md') || !COMMENT.test(line))
  const code = lines.filter((line) => isCode(line.trim())).length
  for (const place of [folderOf(path), 'all']) {
    const key = `${kindOf(path, lines)}\t${place}`
    const { files, ...before } = sizes.get(key) ?? { files: 0, lines: 0, code: 0 }
    sizes.set(key, { files: files + 1, lines: before.lines + lines.length, code: before.code + code })
  }
}
console.log(row(['', '', 'files', 'lines', 'code']))
for (const kind of KINDS) {
  const places = [...sizes].filter(([key]) => key.startsWith(`${kind}\t`))
  for (const [key, { files, lines, code }] of places.sort(([, a], [, b]) => b.lines - a.lines))
    console.log(row([kind, key.slice(kind.length + 1), files, lines, code]))
}

/** Returns the paths of the regular files in the git index, without symbolic links. */
function trackedFiles(): readonly string[] {
  const listed = execFileSync('git', ['ls-files', '-s'], { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 })
  return listed
    .split('\n')
    .filter((line) => line.startsWith('100'))
    .map((line) => line.slice(line.indexOf('\t') + 1))
    .filter((path) => COUNTED.has(extname(path)))
}

function kindOf(path: string, lines: readonly string[]): Kind {
  if (path === 'package-lock.json' || /Generated .*npm run generate/.test(lines.slice(0, 5).join(' ')))
    return 'generated'
  if (path.startsWith('test/')) return /\.(json|tsv)$/.test(path) ? 'test data' : 'tests'
  return path.endsWith('.md') ? 'documentation' : 'product'
}

function folderOf(path: string): string {
  const [first = '', second] = path.split('/')
  return second === undefined ? '(root)' : first
}

function row(cells: readonly (string | number)[]): string {
  const [kind = '', place = '', ...figures] = cells
  return `${String(kind).padEnd(14)}${String(place).padEnd(14)}${figures.map((cell) => String(cell).padStart(9)).join('')}`
}
