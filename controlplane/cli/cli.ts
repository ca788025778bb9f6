import * as z from 'zod'
import { ChaperoneError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { VERSION } from '../version.ts'
import { type ParsedArguments, parseArguments } from './arguments.ts'
import { EXIT, type Invocation } from './command.ts'
import { COMMANDS } from './commands.ts'
import { commandHelp, overview } from './help.ts'
import { type DataFolder, findDataFolder } from './state/data-folder.ts'
import { commandName } from './terminal/command-name.ts'
import { fileErrorText } from './terminal/file-error.ts'

export type CliContext = Pick<Invocation, 'env' | 'cwd' | 'terminal'>

/** Runs one command line and resolves to its exit code. Writes failures to standard error; never rejects. */
export async function runCli(argv: readonly string[], context: CliContext): Promise<number> {
  const [name, ...args] = argv
  if (name === undefined || name === '--help' || name === '-h' || name === 'help')
    return help(args[0], context)
  if (name === '--version' || name === '-v') return version(context)
  const load = COMMANDS.get(name)
  if (load === undefined) return unknownCommand(name, context)
  try {
    const command = await load()
    const parsed = parseArguments(command, args)
    if (parsed.options['help'] === true) {
      context.terminal.print(commandHelp(command))
      return EXIT.ok
    }
    return await command.run(invocationOf(parsed, context))
  } catch (error) {
    return report(error, context)
  }
}

/** Returns the invocation of a command. The data folder is located on first use, because some commands need none. */
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

function unknownCommand(name: string, context: CliContext): number {
  const suggestion = nearest(name, [...COMMANDS.keys()])
  const hint = suggestion === undefined ? 'See: chaperone --help' : `Did you mean: chaperone ${suggestion}`
  context.terminal.warn(`chaperone: ${name} is not a command. ${hint}`)
  return EXIT.usage
}

function report(error: unknown, context: CliContext): number {
  if (error instanceof z.ZodError) {
    context.terminal.warn(`chaperone: ${schemaMismatch(error)}`)
    return EXIT.refused
  }
  const fileProblem = fileErrorText(error)
  if (fileProblem !== null) {
    context.terminal.warn(`chaperone: ${fileProblem}`)
    return EXIT.refused
  }
  if (!(error instanceof ChaperoneError)) {
    context.terminal.warn(
      `chaperone: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    )
    return EXIT.refused
  }
  context.terminal.warn(`chaperone: ${error.message}`)
  if (error.code === 'validation') return EXIT.usage
  return error.code === 'not_ready' ? EXIT.unreachable : EXIT.refused
}

/**
 * Returns the error text for a response that does not match its schema. The usual cause is a server of another version.
 */
function schemaMismatch({ issues: [first] }: z.ZodError): string {
  const place = first === undefined ? '' : ` (${first.path.join('.')}: ${first.message})`
  return (
    `this version of the command cannot read the response${place}.\n` +
    'An older or a newer version of Chaperone may be running. Restart it with this version: chaperone up'
  )
}
