import type { Violation } from './import-rules.ts'
import type { SourceFile } from './source-files.ts'

const MAX_LINES = 300
/**
 * Maximum number of lines of a test file. It is higher than for sources, because a table of cases reads better in one
 * piece.
 */
const MAX_TEST_LINES = 800
const MAIN_LINES = 60

type CodeRule = {
  readonly applies: (path: string) => boolean
  readonly pattern: RegExp
  readonly message: string
}

const inCore = (path: string) => path.startsWith('core/')
/**
 * Reports whether the file is not allowed to read environment variables. Only entry points, the command line, scripts
 * and tests may read environment variables.
 */
const mustNotReadEnvironment = (path: string) =>
  !/(^|\/)main\.ts$/.test(path) && !/^(controlplane\/cli|scripts|test)\//.test(path)
const isSource = (path: string) => !path.startsWith('test/')

const RULES: readonly CodeRule[] = [
  { applies: inCore, pattern: /\bMath\.random\b/, message: 'core has no randomness: pass ids in' },
  {
    applies: inCore,
    pattern: /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\./,
    message: 'core has no clock: pass the time in',
  },
  {
    applies: mustNotReadEnvironment,
    pattern: /\bprocess\.env\b/,
    message: 'only main.ts, the command line, scripts and tests read the environment',
  },
  {
    applies: isSource,
    pattern: /\bexport\s*\*|\bexport\s*(type\s*)?\{[^}]*\}\s*from\b/,
    message: 'no barrels: import from the file that holds it',
  },
]

export function codeViolations(file: SourceFile): Violation[] {
  const lines = file.code.split('\n')
  const found = RULES.filter((rule) => rule.applies(file.path)).flatMap((rule) =>
    lines.flatMap((line, index) =>
      rule.pattern.test(line) ? [{ path: file.path, line: index + 1, message: rule.message }] : [],
    ),
  )
  return [...found, ...lengthViolations(file)]
}

function lengthViolations(file: SourceFile): Violation[] {
  const length = file.text.trimEnd().split('\n').length
  const limit = limitOf(file.path)
  if (length <= limit) return []
  return [
    {
      path: file.path,
      line: limit + 1,
      message: `has ${length} lines, at most ${limit}: split it by what it holds`,
    },
  ]
}

function limitOf(path: string): number {
  if (/^(sidecar|controlplane|operator)\/main\.ts$/.test(path)) return MAIN_LINES
  return path.startsWith('test/') ? MAX_TEST_LINES : MAX_LINES
}
