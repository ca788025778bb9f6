import { parseArgs } from 'node:util'
import { ChaperoneError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { COMMON_OPTIONS, type Command, type Invocation, type OptionSpec } from './command.ts'

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
  if (extra === undefined) return
  const usage = command.usage.map((line) => `  chaperone ${line}`).join('\n')
  throw usageError(command, `The argument ${extra} is not expected. Usage:\n${usage}`)
}

/** Returns a usage error, which ends the command with exit code 2. */
export function usageError(command: Pick<Command, 'name'>, problem: string): ChaperoneError {
  return new ChaperoneError('validation', { detail: `${problem}\nSee: chaperone ${command.name} --help` })
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
