import { resolve } from 'node:path'
import { portOption, usageError } from '../arguments.ts'
import { proxyOrigin } from '../client/agents.ts'
import { type Command, EXIT, flag, type Invocation, isFolderChosen, text } from '../command.ts'
import { workingTreeFolder } from '../state/working-tree-folder.ts'
import { commandName } from '../terminal/command-name.ts'
import { type Facts, type Installation, type InstallationOptions, startInstallation } from './installation.ts'
import { dataOption, nextSteps } from './next-steps.ts'
import { stopSignals } from './stop-signals.ts'
import { tryCommand } from './try-command.ts'

export const up: Command = {
  name: 'up',
  summary: 'Start the control plane, gateway and database on this machine',
  usage: [
    'up [--data DIR] [--manifests DIR] [--here] [--host ADDR] [--port N] [--gateway-port N | --no-gateway]\n            [--approvals session|token] [--trust-manifests] [--json]',
  ],
  details:
    'Runs until Ctrl-C. All state is in one data folder, and the next start resumes it. DATABASE_URL selects your own PostgreSQL\n' +
    'instead of the embedded one. The manifests folder contains Gateways, Connectors, Permissions and Policies as YAML; changes are\n' +
    'applied while Chaperone runs.',
  options: {
    manifests: {
      type: 'string',
      value: 'DIR',
      help: 'folder with YAML manifests (default: manifests in the data folder)',
    },
    port: { type: 'string', value: 'N', help: 'port of dashboard and API (default 3000; 0: any free port)' },
    'gateway-port': {
      type: 'string',
      value: 'N',
      help: 'port of the gateway (default 9443; 0: any free port)',
    },
    host: { type: 'string', value: 'ADDR', help: 'address of dashboard and API (default 127.0.0.1)' },
    approvals: {
      type: 'string',
      value: 'MODE',
      help: 'session (default): once there is an owner, approvals and changes of rules require a session (chaperone login); token: the admin token, which the command line uses, suffices',
    },
    'trust-manifests': {
      type: 'boolean',
      help: 'allow credentials from env, file and exec in a manifests folder that was moved or created again; check its manifests before',
    },
    here: {
      type: 'boolean',
      help: 'use the data folder .chaperone of the working directory, and trust it if it is created (npm start); --data and CHAPERONE_DATA take precedence',
    },
    'no-gateway': {
      type: 'boolean',
      help: 'only policies, approvals and audit, without a gateway (Mode B): agents ask /api/v1/actions before each action',
    },
  },
  examples: [
    ['chaperone up', 'start with the dashboard on http://127.0.0.1:3000 and data in your home folder'],
    ['chaperone up --data /tmp/try --port 0 --gateway-port 0', 'start a second installation'],
    ['chaperone up --json | head -1', 'print one line of JSON when ready, for scripts'],
    [
      'DATABASE_URL=postgres://me@db/chaperone chaperone up --no-gateway',
      'start without a gateway, on your own database',
    ],
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

/**
 * Starts the installation. Resolves with null when a termination signal arrived before the start completed, which is
 * not an error.
 */
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
  // The options are checked before the data folder is located, because locating it may create the folder or throw.
  const checked = {
    port: portOption(up, 'port', text(invocation, 'port'), 3000),
    gatewayPort: portOption(up, 'gateway-port', text(invocation, 'gateway-port'), 9443),
    approvals: approvalsMode(text(invocation, 'approvals')),
  }
  const folder =
    flag(invocation, 'here') && !isFolderChosen(invocation)
      ? workingTreeFolder({ env, cwd })
      : invocation.folder
  const manifests = text(invocation, 'manifests')
  return {
    ...checked,
    folder,
    manifests: manifests === undefined ? folder.manifests : resolve(cwd, manifests),
    host: text(invocation, 'host') ?? '127.0.0.1',
    withGateway: !flag(invocation, 'no-gateway'),
    trustsManifests: flag(invocation, 'trust-manifests'),
    command: commandName(cwd),
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
  const named = isFolderChosen(invocation) ? folder.root : null
  const command = commandName(invocation.cwd)
  return [
    '',
    `  Dashboard        ${facts.base_url}`,
    ...becomeOwner(facts, invocation.cwd, named),
    ...facts.agents.map(({ name, proxy_url }) => `  Agent ${name.padEnd(10)} ${proxyOrigin(proxy_url)}`),
    `  Manifests        ${manifests}${starterWritten ? ' (starter set written)' : ''}`,
    `  Data and logs    ${folder.root}`,
    ...(agent === undefined
      ? modeB(facts)
      : firstSteps(facts, agent, { command, next: nextSteps(command, named) })),
    '',
    '  Stop with Ctrl-C.',
  ]
}

/**
 * Returns a line with the owner link when standard output is a terminal. Otherwise the line has the command that
 * prints the link, because logs keep the output of a program.
 */
function becomeOwner({ owner_link: link }: Facts, cwd: string, named: string | null): string[] {
  if (link === null) return []
  const shown = process.stdout.isTTY
    ? `${link} (within an hour)`
    : `${commandName(cwd)} owner-link${dataOption(named)}`
  return [`  Become owner     ${shown}`]
}

function firstSteps(
  facts: Facts,
  agent: Facts['agents'][number],
  { command, next }: { readonly command: string; readonly next: readonly string[] },
): string[] {
  return [
    '',
    '  Try it: an agent deletes a repository, and the gateway refuses with the reason.',
    `    ${tryCommand(agent.proxy_url, facts.ca_file)}`,
    '',
    '  Next, in another terminal:',
    ...next.map((line) => `    ${line}`),
    '',
    '  Rules are in the manifests; changes are in force within a second.',
    `  Credentials: ${command} credential set NAME, or the page Connectors.`,
  ]
}

function modeB(facts: Facts): string[] {
  return ['', `  No gateway: agents call ${facts.base_url}/api/v1/actions before each action.`]
}
