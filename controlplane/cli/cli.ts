import * as z from 'zod'
import { ChaperoneError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { type ParsedArguments, parseArguments } from './arguments.ts'
import { type Command, EXIT, type Invocation } from './command.ts'
import { commandName } from './terminal/command-name.ts'
import { type DataFolder, findDataFolder } from './state/data-folder.ts'
import { commandHelp, overview } from './help.ts'

type Entry = { readonly name: string; readonly summary: string; readonly load: () => Promise<Command> }

/** Loaded one at a time: `chaperone status` need not read the code of `chaperone demo`. */
const COMMANDS: readonly Entry[] = [
  {
    name: 'up',
    summary: 'start control plane, gateway and database on this machine',
    load: async () => (await import('./up/up.ts')).up,
  },
  {
    name: 'run',
    summary: 'start a command behind the gateway',
    load: async () => (await import('./run/run.ts')).run,
  },
  {
    name: 'status',
    summary: 'what runs, what is in force, what waits',
    load: async () => (await import('./commands/status.ts')).status,
  },
  {
    name: 'explain',
    summary: 'what would happen to a request, and why',
    load: async () => (await import('./commands/explain.ts')).explain,
  },
  { name: 'traffic', summary: 'what agents did', load: async () => (await import('./commands/traffic.ts')).traffic },
  {
    name: 'approvals',
    summary: 'requests that wait for a person',
    load: async () => (await import('./commands/approvals.ts')).approvals,
  },
  {
    name: 'login',
    summary: 'sign in at this terminal, to answer approvals',
    load: async () => (await import('./sign-in/login.ts')).login,
  },
  {
    name: 'logout',
    summary: 'end that session',
    load: async () => (await import('./sign-in/logout.ts')).logout,
  },
  {
    name: 'owner-link',
    summary: 'a new link with which the first owner registers',
    load: async () => (await import('./sign-in/owner-link.ts')).ownerLink,
  },
  {
    name: 'user',
    summary: 'give a user of this machine a new password',
    load: async () => (await import('./sign-in/user.ts')).user,
  },
  {
    name: 'kill',
    summary: 'stop agents at once, all or some',
    load: async () => (await import('./commands/kill.ts')).kill,
  },
  {
    name: 'agent',
    summary: 'create, list, suspend, activate, revoke agents; new keys',
    load: async () => (await import('./commands/agent.ts')).agent,
  },
  { name: 'apply', summary: 'put manifests in force', load: async () => (await import('./manifests/apply.ts')).apply },
  {
    name: 'get',
    summary: 'gateways, connectors, permissions, policies, agents, manifests',
    load: async () => (await import('./commands/get.ts')).get,
  },
  {
    name: 'export',
    summary: 'the configuration as manifests to commit',
    load: async () => (await import('./manifests/export.ts')).exportCommand,
  },
  {
    name: 'policy',
    summary: 'run the tests inside policies',
    load: async () => (await import('./manifests/policy.ts')).policy,
  },
  {
    name: 'inject',
    summary: 'pods as the injector of a cluster would make them',
    load: async () => (await import('./manifests/inject.ts')).inject,
  },
  {
    name: 'catalogue',
    summary: 'the actions that are known by name',
    load: async () => (await import('./commands/catalogue.ts')).catalogue,
  },
  {
    name: 'backup',
    summary: 'database, keys and manifests into one file',
    load: async () => (await import('./backup/backup.ts')).backup,
  },
  {
    name: 'restore',
    summary: 'a backup into an empty data folder',
    load: async () => (await import('./backup/restore.ts')).restore,
  },
  {
    name: 'trust',
    summary: 'let a data folder in a working tree count',
    load: async () => (await import('./state/trust.ts')).trust,
  },
  {
    name: 'doctor',
    summary: 'find what is wrong, with the line that mends it',
    load: async () => (await import('./doctor/doctor.ts')).doctor,
  },
  { name: 'logs', summary: 'logs of the processes', load: async () => (await import('./commands/logs.ts')).logs },
  {
    name: 'demo',
    summary: 'the whole story in a minute, no account needed',
    load: async () => (await import('./demo/demo.ts')).demo,
  },
  {
    name: 'cluster-setup',
    summary: 'make the keys of an installation in a cluster; run by the chart',
    load: async () => (await import('./cluster/cluster-setup.ts')).clusterSetup,
  },
]

export type CliContext = Pick<Invocation, 'env' | 'cwd' | 'terminal'>

/** Runs one command line and resolves to its exit code; every failure becomes a sentence on standard error. */
export async function runCli(argv: readonly string[], context: CliContext): Promise<number> {
  const [name, ...args] = argv
  if (name === undefined || name === '--help' || name === '-h' || name === 'help')
    return help(args[0], context)
  const entry = COMMANDS.find((candidate) => candidate.name === name)
  if (entry === undefined) return unknownCommand(name, context)
  try {
    const command = await entry.load()
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

/** The folder is looked for when a command first uses it: some need none. */
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

async function help(name: string | undefined, context: CliContext): Promise<number> {
  const entry = COMMANDS.find((candidate) => candidate.name === name)
  if (name !== undefined && entry === undefined) return unknownCommand(name, context)
  context.terminal.print(
    entry === undefined ? overview(COMMANDS, commandName(context.cwd)) : commandHelp(await entry.load()),
  )
  return EXIT.ok
}

function unknownCommand(name: string, context: CliContext): number {
  const suggestion = nearest(
    name,
    COMMANDS.map((command) => command.name),
  )
  const hint = suggestion === undefined ? 'See: chaperone --help' : `Did you mean: chaperone ${suggestion}`
  context.terminal.warn(`chaperone: ${name} is not a command. ${hint}`)
  return EXIT.usage
}

function report(error: unknown, context: CliContext): number {
  if (error instanceof z.ZodError) {
    context.terminal.warn(`chaperone: ${unknownForm(error)}`)
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

/** All that a command reads of others, it reads by a schema: most often the other one is older. */
function unknownForm({ issues: [first] }: z.ZodError): string {
  const place = first === undefined ? '' : ` (${first.path.join('.')}: ${first.message})`
  return (
    `what Chaperone answered has a form that this version of the command does not know${place}.\n` +
    'Does an older or a newer version run there? Start it again with this one: chaperone up'
  )
}
