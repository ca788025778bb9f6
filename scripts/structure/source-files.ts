import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, sep } from 'node:path'

export type Import = { readonly line: number; readonly specifier: string; readonly isTypeOnly: boolean }
export type SourceFile = {
  /** Path relative to the project root, with `/` as separator. */
  readonly path: string
  readonly text: string
  /**
   * The text with spaces in place of comments and of the contents of strings. Line numbers are the same as in `text`.
   */
  readonly code: string
  readonly imports: readonly Import[]
}

const ROOTS = ['core', 'kube', 'runtime', 'sidecar', 'controlplane', 'operator', 'scripts', 'test']
const SKIPPED = new Set(['node_modules', 'dist', 'coverage', 'peers', 'results'])

/** Returns every TypeScript file of the project, sorted by path. */
export function readSources(root: string): SourceFile[] {
  return ROOTS.flatMap((dir) => walk(join(root, dir)))
    .map((path) =>
      sourceFile(
        path
          .slice(root.length + 1)
          .split(sep)
          .join('/'),
        readFileSync(path, 'utf8'),
      ),
    )
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}

export function sourceFile(path: string, text: string): SourceFile {
  return { path, text, code: withoutTexts(text), imports: importsOf(text) }
}

/** Returns the path of the project file that a relative import names; undefined for packages and `node:` modules. */
export function target(file: SourceFile, specifier: string): string | undefined {
  return specifier.startsWith('.')
    ? normalize(join(dirname(file.path), specifier))
        .split(sep)
        .join('/')
    : undefined
}

function walk(dir: string): string[] {
  const entries = readdirSync(dir, { withFileTypes: true })
  return entries.flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return []
    const path = join(dir, entry.name)
    if (entry.isDirectory()) return walk(path)
    return /\.tsx?$/.test(entry.name) ? [path] : []
  })
}

const STATEMENT =
  /(?:^|\n)[ \t]*(?:import|export)\b([^'"`;]*?)\bfrom\s*(['"])([^'"]+)\2|\bimport\s*\(\s*(['"])([^'"]+)\4|(?:^|\n)[ \t]*import\s*(['"])([^'"]+)\6/g

function importsOf(text: string): Import[] {
  return [...text.matchAll(STATEMENT)].map((match) => {
    const specifier = match[3] ?? match[5] ?? match[7] ?? ''
    const line = text.slice(0, match.index + match[0].length).split('\n').length
    return { line, specifier, isTypeOnly: /^\s*type\b/.test(match[1] ?? '') }
  })
}

/** Replaces comments and string literals with spaces, so that the patterns of code rules do not match them. */
function withoutTexts(text: string): string {
  const blank = (part: string) => part.replace(/[^\n]/g, ' ')
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g, blank)
}
