import { nearest } from '../../core/nearest.ts'
import { VERSION } from '../version.ts'
import { type ParsedArguments, parseArguments } from './arguments.ts'
import { EXIT, type Invocation } from './command.ts'
import { COMMANDS } from './commands.ts'
import { commandHelp, overview } from './help.ts'
import { type DataFolder, findDataFolder } from './state/data-folder.ts'
import { commandName } from './terminal/command-name.ts'
import { reportError } from './terminal/error-report.ts'

export type CliContext = Pick<Invocation, 'env' | 'cwd' | 'terminal'>

/** Runs one command line and resolves to its exit code. Writes failures to standard error; never rejects. */
export async function runCli(argv: readonly string[], context: CliContext): Promise<number> {
  const { name, data, args } = commandOf(argv)
  const problem = dataProblem(data, name)
  if (problem !== null) return usageProblem(problem, context)
  if (name === undefined || name === '--help' || name === '-h' || name === 'help')
    return help(args[0], context)
  if (name === '--version' || name === '-v') return version(context)
  const load = COMMANDS.get(name)
  if (load === undefined) return unknownCommand(name, context)
  try {
    const command = await load()
    const parsed = parseArguments(command, [...data, ...args])
    if (parsed.options['help'] === true) {
      context.terminal.print(commandHelp(command))
      return EXIT.ok
    }
    return await command.run(invocationOf(parsed, context))
  } catch (error) {
    return reportError(error, context)
  }
}

/** Splits a command line into the name of the command, its arguments, and an option `--data` before the name. */
export function commandOf(argv: readonly string[]): {
  readonly name: string | undefined
  readonly data: readonly string[]
  readonly args: readonly string[]
} {
  const [first = ''] = argv
  const before = first === '--data' ? 2 : first.startsWith('--data=') ? 1 : 0
  const [name, ...args] = argv.slice(before)
  return { name, data: argv.slice(0, before), args }
}

/**
 * Returns the arguments and the context with which a command runs. The data folder is located on first use,
 * because some commands need none.
 */
function invocationOf(parsed: ParsedArguments, context: CliContext): Invocation {
  const data = parsed.options['data']
  let found: DataFolder | undefined
  return {
    ...parsed,
    ...context,
    get folder() {
      const { env, cwd, terminal } = context
      found ??= findDataFolder({
        flag: typeof data === 'string' ? data : undefined,
        env,
        cwd,
        warn: terminal.warn,
      })
      return found
    },
  }
}

function version({ terminal }: CliContext): number {
  terminal.print(VERSION)
  return EXIT.ok
}

async function help(name: string | undefined, context: CliContext): Promise<number> {
  if (name === undefined) {
    const commands = await Promise.all([...COMMANDS.values()].map((load) => load()))
    context.terminal.print(overview(commands, commandName(context.cwd)))
    return EXIT.ok
  }
  const load = COMMANDS.get(name)
  if (load === undefined) return unknownCommand(name, context)
  context.terminal.print(commandHelp(await load()))
  return EXIT.ok
}

/**
 * Returns the error text for a leading `--data` without a folder or without a command; null if both are given. An
 * option that follows `--data` is not a folder.
 */
function dataProblem(data: readonly string[], name: string | undefined): string | null {
  const [option, folder = option?.slice('--data='.length) ?? ''] = data
  if (option === undefined) return null
  if (folder === '' || folder.startsWith('-')) return '--data needs a value: --data DIR.'
  return name === undefined ? `Give a command after ${data.join(' ')}.` : null
}

function usageProblem(problem: string, context: CliContext): number {
  context.terminal.warn(`chaperone: ${problem} See: chaperone --help`)
  return EXIT.usage
}

function unknownCommand(name: string, context: CliContext): number {
  const suggestion = nearest(name, [...COMMANDS.keys()])
  const hint = suggestion === undefined ? 'See: chaperone --help' : `Did you mean: chaperone ${suggestion}`
  context.terminal.warn(`chaperone: ${name} is not a command. ${hint}`)
  return EXIT.usage
}
