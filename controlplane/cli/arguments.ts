import { parseArgs } from 'node:util'
import { ChaperoneError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { COMMON_OPTIONS, type Command, type Invocation, type OptionSpec } from './command.ts'

export type ParsedArguments = Pick<Invocation, 'options' | 'positionals' | 'rest'>

/** Reads a command's arguments. Throws `validation` that names the wrong option and the nearest right one. */
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
  if (values['help'] !== true) refuseExtraWord(command, positionals)
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

function refuseExtraWord(command: Command, positionals: readonly string[]): void {
  const extra = positionals[command.words ?? 0]
  if (extra === undefined) return
  const usage = command.usage.map((line) => `  chaperone ${line}`).join('\n')
  throw usageError(command, `${extra} is not expected. It goes:\n${usage}`)
}

/** `validation` is what exits with 2. */
export function usageError(command: Pick<Command, 'name'>, problem: string): ChaperoneError {
  return new ChaperoneError('validation', { detail: `${problem}\nSee: chaperone ${command.name} --help` })
}

/** A port number of an option. */
export function portOption(
  command: Command,
  name: string,
  value: string | undefined,
  fallback: number,
): number {
  if (value === undefined) return fallback
  const port = Number(value)
  if (!/^\d{1,5}$/.test(value) || port > 65_535) {
    throw usageError(command, `--${name} ${value} is no port: give 1-65535, or 0 for any free one.`)
  }
  return port
}
