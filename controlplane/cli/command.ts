import type { DataFolder } from './state/data-folder.ts'

/** Exit codes: 0 success, 1 refused or a failed check, 2 wrong usage, 3 unreachable, 4 unknown kill switch scope. */
export const EXIT = { ok: 0, refused: 1, usage: 2, unreachable: 3, unknownScope: 4 } as const

export type OptionSpec = {
  readonly type: 'string' | 'boolean'
  /** Placeholder of the option's value in the help text, for example `DIR`. */
  readonly value?: string
  readonly short?: string
  readonly multiple?: boolean
  readonly help: string
}

export type Terminal = {
  /** Writes one line to standard output. */
  print(line: string): void
  /** Writes one line to standard error: warnings and progress. */
  warn(line: string): void
  readonly isInteractive: boolean
}

export type Invocation = {
  /** Option values by name. An option that may be repeated is an array; an absent option is undefined. */
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly positionals: readonly string[]
  /** Command line arguments after `--`. */
  readonly rest: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  readonly folder: DataFolder
  readonly terminal: Terminal
}

/**
 * A subcommand of `chaperone`. `run` resolves with the exit code, or rejects with a `ChaperoneError`, which the
 * caller prints.
 */
export type Command = {
  readonly name: string
  /**
   * Summary of the command in one line, imperative, without a full stop. `chaperone --help` shows the summary, and the
   * help of the command has the summary as its title.
   */
  readonly summary: string
  readonly usage: readonly string[]
  readonly details?: string
  readonly options: Readonly<Record<string, OptionSpec>>
  /** Maximum number of positional arguments; more arguments are a usage error. Default 0. */
  readonly maxArguments?: number
  readonly examples: ReadonlyArray<readonly [command: string, meaning: string]>
  readonly run: (invocation: Invocation) => Promise<number>
}

export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  data: {
    type: 'string',
    value: 'DIR',
    help: 'data folder (default: CHAPERONE_DATA, else the nearest trusted .chaperone in this or a parent folder, else ~/.local/state/chaperone/data)',
  },
  json: { type: 'boolean', help: 'machine-readable output' },
  help: { type: 'boolean', short: 'h', help: 'print this text' },
}

export function text(invocation: Pick<Invocation, 'options'>, name: string): string | undefined {
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

/** Reports whether the user chose the data folder with `--data` or CHAPERONE_DATA. */
export function isFolderChosen({ env, ...given }: Invocation): boolean {
  return given.options['data'] !== undefined || (env['CHAPERONE_DATA'] ?? '') !== ''
}
