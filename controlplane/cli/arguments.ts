import { parseArgs } from 'node:util'
import type * as z from 'zod'
import { ChaperoneError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { fieldMessage } from '../../core/schema/field-message.ts'
import { COMMON_OPTIONS, type Command, type Invocation, type OptionSpec, text } from './command.ts'
import { printable } from './terminal/table.ts'

export type ParsedArguments = Pick<Invocation, 'options' | 'positionals' | 'rest'>

/** Parses a command's arguments. Throws `validation` for an unknown option, with the nearest known option as a hint. */
export function parseArguments(command: Command, argv: readonly string[]): ParsedArguments {
  const specs: Record<string, OptionSpec> = { ...COMMON_OPTIONS, ...command.options }
  const end = argv.indexOf('--')
  const own = end === -1 ? argv : argv.slice(0, end)
  const { values, positionals, tokens } = parseArgs({
    args: [...own],
    options: Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, parserOption(spec)])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  for (const token of tokens) {
    if (token.kind === 'option') check(command, specs, token)
  }
  if (values['help'] !== true) rejectExtraArgument(command, positionals)
  return {
    options: values as Invocation['options'],
    positionals,
    rest: end === -1 ? [] : argv.slice(end + 1),
  }
}

function parserOption(spec: OptionSpec) {
  const short = spec.short === undefined ? {} : { short: spec.short }
  return { type: spec.type, multiple: spec.multiple === true, ...short }
}

function check(
  command: Command,
  specs: Readonly<Record<string, OptionSpec>>,
  token: { name: string; rawName: string; value?: string | undefined },
): void {
  const spec = specs[token.name]
  if (spec === undefined) {
    const suggestion = nearest(token.name, Object.keys(specs))
    const hint = suggestion === undefined ? '' : ` Did you mean --${suggestion}?`
    throw usageError(command, `${token.rawName} is not an option of chaperone ${command.name}.${hint}`)
  }
  if (spec.type === 'boolean' && token.value !== undefined) {
    throw usageError(command, `${token.rawName} takes no value.`)
  }
  if (spec.type === 'string' && (token.value === undefined || token.value === '')) {
    throw usageError(command, `${token.rawName} needs a value: --${token.name} ${spec.value ?? 'VALUE'}.`)
  }
}

function rejectExtraArgument(command: Command, positionals: readonly string[]): void {
  const extra = positionals[command.maxArguments ?? 0]
  if (extra !== undefined) throw unexpectedArgument(command, extra)
}

function unexpectedArgument(command: Command, extra: string): ChaperoneError {
  const usage = command.usage.map((line) => `  chaperone ${line}`).join('\n')
  return usageError(command, `The argument ${extra} is not expected. Usage:\n${usage}`)
}

/** Returns a usage error, which ends the command with exit code 2. */
export function usageError(command: Pick<Command, 'name'>, problem: string): ChaperoneError {
  return new ChaperoneError('validation', { detail: `${problem}\nSee: chaperone ${command.name} --help` })
}

/** Verbs of a command, each with the placeholder of its argument; null for a verb without an argument. */
type Verbs = Readonly<Record<string, string | null>>

/**
 * Returns the verb, which is the first argument, and the argument of the verb. For a verb without an argument, the
 * argument is an empty text. `ls` and `list` are synonyms. Throws a usage error for any other verb, and for a missing
 * or an extra argument.
 *
 * @param preset Verb of a command line without positional arguments. When absent, such a command line is a usage
 * error.
 */
export function verbOf<V extends Verbs>(
  command: Command,
  positionals: readonly string[],
  verbs: V,
  preset?: string & keyof V,
): { readonly verb: string & keyof V; readonly argument: string } {
  const [given = preset, argument] = positionals
  const known = Object.keys(verbs).join(', ')
  if (given === undefined) throw usageError(command, `Give one of ${known}.`)
  const verb = [given, SYNONYMS[given]].find((name) => name !== undefined && Object.hasOwn(verbs, name))
  if (verb === undefined) throw usageError(command, `${command.name} ${given} is not one of ${known}.`)
  const placeholder = verbs[verb] ?? null
  if (placeholder === null && argument !== undefined) throw unexpectedArgument(command, argument)
  if (placeholder !== null && argument === undefined)
    throw usageError(command, `Give ${placeholder}: chaperone ${command.name} ${verb} ${placeholder}.`)
  return { verb, argument: argument ?? '' }
}

const SYNONYMS: Readonly<Record<string, string | undefined>> = { ls: 'list', list: 'ls' }

/**
 * Returns the value that a user gave. Throws a usage error when the schema of the API does not accept the value.
 *
 * @param label Name of the value in the error, for example `--from`; empty for an argument.
 */
export function checkedValue(
  command: Pick<Command, 'name'>,
  schema: z.ZodType,
  value: string,
  label = '',
): string {
  const [issue] = schema.safeParse(value, { error: fieldMessage }).error?.issues ?? []
  if (issue === undefined) return value
  throw usageError(command, `${label === '' ? '' : `${label} `}${printable(value)} ${issue.message}.`)
}

/** Returns the value of an option as `checkedValue` does; undefined for an absent option. */
export function checkedOption(
  command: Command,
  invocation: Pick<Invocation, 'options'>,
  name: string,
  schema: z.ZodType,
): string | undefined {
  const value = text(invocation, name)
  return value === undefined ? undefined : checkedValue(command, schema, value, `--${name}`)
}

/** Parses the value of a port option; 0 selects any free port. Throws `validation` for any other text. */
export function portOption(
  command: Command,
  name: string,
  value: string | undefined,
  fallback: number,
): number {
  if (value === undefined) return fallback
  const port = Number(value)
  if (!/^\d{1,5}$/.test(value) || port > 65_535) {
    throw usageError(command, `--${name} ${value} is not a port. Give 1-65535, or 0 for any free port.`)
  }
  return port
}
