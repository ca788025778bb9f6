import type { DataFolder } from './state/data-folder.ts'

/** 0 done, 1 refused or a failed check, 2 wrong usage, 3 nothing answers. */
export const EXIT = { ok: 0, refused: 1, usage: 2, unreachable: 3, unknownScope: 4 } as const

export type OptionSpec = {
  readonly type: 'string' | 'boolean'
  /** What stands for the value in help, e.g. `DIR`. */
  readonly value?: string
  readonly short?: string
  readonly multiple?: boolean
  readonly help: string
}

export type Terminal = {
  /** One line on standard output. */
  print(line: string): void
  /** One line on standard error: warnings, progress. */
  warn(line: string): void
  readonly isInteractive: boolean
}

export type Invocation = {
  /** Repeated options are arrays; absent ones undefined. */
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly positionals: readonly string[]
  /** Everything after `--`. */
  readonly rest: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  readonly folder: DataFolder
  readonly terminal: Terminal
}

/** One subcommand. `run` resolves to the exit code; it may throw a ChaperoneError. */
export type Command = {
  readonly name: string
  readonly summary: string
  readonly usage: readonly string[]
  readonly details?: string
  readonly options: Readonly<Record<string, OptionSpec>>
  /** How many words may stand behind its name; one more is wrong usage, never passed over. Default none. */
  readonly words?: number
  readonly examples: ReadonlyArray<readonly [command: string, meaning: string]>
  readonly run: (invocation: Invocation) => Promise<number>
}

export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  data: {
    type: 'string',
    value: 'DIR',
    help: 'data folder (default: CHAPERONE_DATA, a trusted .chaperone upward, ~/.local/state/chaperone/data)',
  },
  json: { type: 'boolean', help: 'machine-readable output' },
  help: { type: 'boolean', short: 'h', help: 'this text' },
}

export function text(invocation: Invocation, name: string): string | undefined {
  const value = invocation.options[name]
  return typeof value === 'string' ? value : undefined
}

export function flag(invocation: Invocation, name: string): boolean {
  return invocation.options[name] === true
}

export function list(invocation: Invocation, name: string): readonly string[] {
  const value = invocation.options[name]
  if (Array.isArray(value)) return value
  return typeof value === 'string' ? [value] : []
}

/** Whether the user named the data folder. */
export function isNamed({ env, ...given }: Invocation): boolean {
  return given.options['data'] !== undefined || (env['CHAPERONE_DATA'] ?? '') !== ''
}
