import { COMMON_OPTIONS, type Command } from '../command.ts'

export type CompletedOption = {
  readonly name: string
  readonly short?: string
  readonly help: string
  readonly hasValue: boolean
}

/** Completions of one command. `words`: the values of its first argument, for example `create` and `list`. */
export type CompletedCommand = {
  readonly name: string
  readonly summary: string
  readonly words: readonly string[]
  readonly options: readonly CompletedOption[]
}

/** Returns the completions of a command, from its usage lines and options. */
export function completedCommand({ name, summary, usage, options }: Command): CompletedCommand {
  const words = usage.flatMap((line) => firstArgument(name, line))
  return {
    name,
    summary,
    words: [...new Set(words)],
    options: Object.entries({ ...options, ...COMMON_OPTIONS }).map(([option, { short, help, type }]) => ({
      name: option,
      help,
      hasValue: type === 'string',
      ...(short === undefined ? {} : { short }),
    })),
  }
}

/**
 * Returns the fixed words of the first argument in a usage line. In a line such as `agent suspend|activate NAME`, fixed
 * words are in lower case and placeholders are in upper case.
 */
function firstArgument(name: string, usage: string): readonly string[] {
  const word = usage.slice(name.length + 1).split(' ')[0] ?? ''
  return /^[a-z-]+(?:\|[a-z-]+)*$/.test(word) && !word.startsWith('-') ? word.split('|') : []
}
