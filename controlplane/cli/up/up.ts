import { resolve } from 'node:path'
import { portOption, usageError } from '../arguments.ts'
import { proxyOrigin } from '../client/agents.ts'
import { type Command, EXIT, flag, type Invocation, isNamed, text } from '../command.ts'
import { workingTreeFolder } from '../state/working-tree-folder.ts'
import { commandName } from '../terminal/command-name.ts'
import { type Facts, type Installation, type InstallationOptions, startInstallation } from './installation.ts'
import { dataOption, nextSteps } from './next-steps.ts'
import { stopSignals } from './stop-signals.ts'
import { tryCommand } from './try-command.ts'

export const up: Command = {
  name: 'up',
  summary:
    'Starts control plane, dashboard, gateway and database on this machine, and stops them with Ctrl-C.',
  usage: [
    'up [--data DIR] [--manifests DIR] [--here] [--host ADDR] [--port N] [--gateway-port N | --no-gateway]\n            [--approvals session|token] [--json]',
  ],
  details:
    'Everything lives in one data folder; a second start resumes it. DATABASE_URL uses a PostgreSQL of your own instead of the\n' +
    'embedded one. The manifests folder holds Gateways, Connectors, Permissions and Policies as YAML; edits are picked up.',
  options: {
    manifests: {
      type: 'string',
      value: 'DIR',
      help: 'folder with YAML manifests (default: manifests in the data folder)',
    },
    port: { type: 'string', value: 'N', help: 'port of dashboard and API (default 3000; 0: any free one)' },
    'gateway-port': {
      type: 'string',
      value: 'N',
      help: 'port of the gateway (default 9443; 0: any free one)',
    },
    host: { type: 'string', value: 'ADDR', help: 'address of dashboard and API (default 127.0.0.1)' },
    approvals: {
      type: 'string',
      value: 'MODE',
      help: 'session (default): once there is an owner, approvals and rules need a user who has signed in (chaperone login); token: the token of this machine is enough',
    },
    here: {
      type: 'boolean',
      help: 'data in .chaperone of this folder, which is trusted once it is made (npm start); --data and CHAPERONE_DATA take its place',
    },
    'no-gateway': {
      type: 'boolean',
      help: 'policies, approvals and audit only; agents ask /api/v1/actions (Mode B)',
    },
  },
  examples: [
    ['chaperone up', 'dashboard on http://127.0.0.1:3000, data in your home'],
    ['chaperone up --data /tmp/try --port 0 --gateway-port 0', 'a second installation beside it'],
    ['chaperone up --json | head -1', 'one line of JSON when ready, for scripts'],
    ['DATABASE_URL=postgres://me@db/chaperone chaperone up --no-gateway', 'Mode B on a database of your own'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { terminal } = invocation
  using stop = stopSignals()
  const options = upOptions(invocation)
  const installation = await startUnlessStopped(options, stop.starting)
  if (installation === null) return EXIT.refused
  if (flag(invocation, 'json')) terminal.print(JSON.stringify(installation.facts))
  else for (const line of welcome(installation, options, invocation)) terminal.print(line)
  await stop.requested
  terminal.warn('chaperone: stopping ...')
  await installation.stop()
  return EXIT.ok
}

/** Null when a signal came first: that is what was asked for, and no failure to explain. */
async function startUnlessStopped(
  options: InstallationOptions,
  signal: AbortSignal,
): Promise<Installation | null> {
  try {
    return await startInstallation(options, signal)
  } catch (error) {
    if (!signal.aborted) throw error
    options.warn('stopped before it was ready.')
    return null
  }
}

function upOptions(invocation: Invocation): InstallationOptions {
  const { env, cwd, terminal } = invocation
  const folder =
    flag(invocation, 'here') && !isNamed(invocation) ? workingTreeFolder({ env, cwd }) : invocation.folder
  const manifests = text(invocation, 'manifests')
  return {
    folder,
    manifests: manifests === undefined ? folder.manifests : resolve(cwd, manifests),
    host: text(invocation, 'host') ?? '127.0.0.1',
    port: portOption(up, 'port', text(invocation, 'port'), 3000),
    gatewayPort: portOption(up, 'gateway-port', text(invocation, 'gateway-port'), 9443),
    withGateway: !flag(invocation, 'no-gateway'),
    approvals: approvalsMode(text(invocation, 'approvals')),
    env,
    warn: (line) => terminal.warn(`chaperone: ${line}`),
  }
}

function approvalsMode(value = 'session'): InstallationOptions['approvals'] {
  if (value === 'session' || value === 'token') return value
  throw usageError(up, `--approvals ${value} is neither session nor token.`)
}

function welcome(
  { facts, starterWritten }: Installation,
  { folder, manifests }: InstallationOptions,
  invocation: Invocation,
): string[] {
  const agent = facts.agents[0]
  const named = isNamed(invocation) ? folder.root : null
  return [
    '',
    `  Dashboard        ${facts.base_url}`,
    ...becomeOwner(facts, invocation.cwd, named),
    ...facts.agents.map(({ name, proxy_url }) => `  Agent ${name.padEnd(10)} ${proxyOrigin(proxy_url)}`),
    `  Manifests        ${manifests}${starterWritten ? ' (starter set written)' : ''}`,
    `  Data and logs    ${folder.root}`,
    ...(agent === undefined
      ? modeB(facts)
      : firstSteps(facts, agent, nextSteps(commandName(invocation.cwd), named))),
    '',
    '  Stop with Ctrl-C.',
  ]
}

/** The link to a terminal only: logs keep what a program prints. */
function becomeOwner({ owner_link: link }: Facts, cwd: string, named: string | null): string[] {
  if (link === null) return []
  const shown = process.stdout.isTTY
    ? `${link} (within an hour)`
    : `${commandName(cwd)} owner-link${dataOption(named)}`
  return [`  Become owner     ${shown}`]
}

function firstSteps(facts: Facts, agent: Facts['agents'][number], next: readonly string[]): string[] {
  return [
    '',
    '  Try it: an agent deletes a repository, and is told why it may not.',
    `    ${tryCommand(agent.proxy_url, facts.ca_file)}`,
    '',
    '  Next, in another terminal:',
    ...next.map((line) => `    ${line}`),
    '',
    '  Credentials and rules are in the manifests: edit them, a change is in force within a second.',
  ]
}

function modeB(facts: Facts): string[] {
  return ['', `  No gateway: agents ask ${facts.base_url}/api/v1/actions before they act.`]
}
