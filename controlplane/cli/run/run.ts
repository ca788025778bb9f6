import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TRUST_FILES } from '../../../core/capture/pod-contract.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { javaTrustStoreOf } from '../../../core/x509/java-trust-store.ts'
import { usageError } from '../arguments.ts'
import { allowedPorts } from '../capture/allowed-ports.ts'
import { maskedFolders } from '../capture/masked-folders.ts'
import { runCaptured, runNamespaceProcess } from '../capture/run-captured.ts'
import { agentKeyOf, DEFAULT_AGENT, listAgents, registerAgent, waitUntilApplied } from '../client/agents.ts'
import { type ApiClient, controlPlane, localGateway, requireRunFile } from '../client/client.ts'
import { createOwnerLink } from '../client/owner-link-client.ts'
import { type Command, flag, type Invocation, isFolderChosen, list, text } from '../command.ts'
import { type RunFile, writePrivate } from '../state/data-folder.ts'
import { commandName } from '../terminal/command-name.ts'
import { shellQuote } from '../terminal/shell-quote.ts'
import { dataOption } from '../up/next-steps.ts'
import { type AgentEnvironmentInput, agentEnvironment } from './agent-environment.ts'
import { agentProgramOf } from './agent-programs.ts'
import { type ConnectionWatch, watchDirectConnections } from './direct-connections.ts'
import { bypassNotice, limitNotice, starterNotice } from './run-notices.ts'
import { spawnCommand } from './spawn-command.ts'

const NODE_PRELOAD = fileURLToPath(new URL('./node-preload/preload.cjs', import.meta.url))

export const run: Command = {
  name: 'run',
  summary: 'Run a command as an agent behind the gateway',
  usage: ['run [--agent NAME] [--capture [--allow-local PORT]...] -- COMMAND [ARGUMENT...]'],
  details:
    'Sets the proxy and CA variables, so that ordinary SDKs use the gateway. Standard streams, signals and the exit code are those of\n' +
    'the command. SDKs that require an API key get a placeholder if none is set, and the gateway adds the real credential. Only loopback\n' +
    'addresses are reached directly.\n' +
    'With --capture (Linux) the command runs in its own network namespace and every connection is redirected to the gateway, so that\n' +
    'clients that ignore proxy variables are governed too. Servers, Unix sockets and processes of this machine are not accessible, and\n' +
    'the data folder is masked. chaperone doctor lists the limits. --allow-local gives the command access to a server of this machine,\n' +
    'for example a database, without rules and records.',
  maxArguments: Number.POSITIVE_INFINITY,
  options: {
    agent: {
      type: 'string',
      value: 'NAME',
      help: `agent that the command acts as (default ${DEFAULT_AGENT})`,
    },
    capture: {
      type: 'boolean',
      help: 'redirect every connection to the gateway instead of setting proxy variables (Linux)',
    },
    'allow-local': {
      type: 'string',
      multiple: true,
      value: 'PORT',
      help: 'with --capture: allow ungoverned access to this TCP port of localhost',
    },
  },
  examples: [
    ['chaperone run -- claude', 'run Claude Code as the agent dev'],
    ['chaperone run -- python agent.py', 'run another program'],
    [
      'chaperone run --agent triage -- node triage.mjs',
      'run as another agent (chaperone agent create triage)',
    ],
    [
      'chaperone run -- curl -sS -X DELETE https://api.github.com/repos/acme/site',
      'send a request that is denied',
    ],
    ['chaperone run --capture -- ./agent', 'run an agent that does not support proxies'],
    [
      'chaperone run --capture --allow-local 5432 -- ./agent',
      'run an agent that uses a database on this machine',
    ],
    ['chaperone run -- sh', 'start a shell whose commands are governed'],
  ],
  run: start,
}

async function start(invocation: Invocation): Promise<number> {
  const [command, ...args] = invocation.rest
  if (command === undefined)
    throw usageError(run, 'Give the command after --, for example chaperone run -- python agent.py.')
  const [stray] = invocation.positionals
  if (stray !== undefined)
    throw usageError(run, `${stray} stands before --. Give the command and its arguments after --.`)
  const { env, terminal } = invocation
  const inside = await runNamespaceProcess(invocation.rest, env)
  if (inside !== null) return inside
  const given = list(invocation, 'allow-local')
  if (given.length > 0 && !flag(invocation, 'capture'))
    throw usageError(
      run,
      '--allow-local requires --capture. Without --capture, every local port is accessible.',
    )
  const localPorts = allowedPorts(given, invocation)
  const { folder } = invocation
  const name = text(invocation, 'agent') ?? DEFAULT_AGENT
  const api = controlPlane(invocation)
  await assertUsable(await listAgents(api), name)
  await printOwnerLink(api, invocation)
  const agent = await registerAgent(localGateway(invocation), name)
  if (!(await waitUntilApplied(api, 'default/local', 5_000))) {
    terminal.warn(
      'chaperone: the gateway has not applied the newest rules yet. The command is started anyway.',
    )
  }
  const facts = requireRunFile(folder)
  offerStarter(invocation, facts.manifests)
  if (!flag(invocation, 'capture')) {
    terminal.warn(limitNotice(command, env))
    const trust = { ...writeStores(folder.gateway, facts.ca_bundle_file), caFile: facts.ca_file }
    const proxy = { proxyUrl: agent.proxy_url, nodePreloadFile: NODE_PRELOAD }
    return await runWatched([command, ...args], agentEnvironment({ ...trust, ...proxy, env }), terminal)
  }
  return await runCaptured({
    agent: name,
    key: agentKeyOf(agent.proxy_url),
    folder,
    command: invocation.rest,
    ownEnv: env,
    localPorts,
    masked: () => [...maskedFolders(env), facts.manifests],
    env: (dir) => agentEnvironment({ ...copyTrust(dir, facts), proxyUrl: null, env }),
  })
}

function offerStarter(invocation: Invocation, manifests: string): void {
  const { rest, cwd, terminal, folder } = invocation
  const program = agentProgramOf(rest, cwd)
  if (program === null) return
  const data = dataOption(isFolderChosen(invocation) ? folder.root : null)
  const notice = starterNotice(program, { manifests, command: `${commandName(cwd)} apply${data}` })
  if (notice !== null) terminal.warn(notice)
}

/**
 * Runs the command and prints one notice when the command bypasses the gateway. In a terminal, the notice follows the
 * end of the command, because the command may draw on the screen. Otherwise the notice is printed at once.
 */
async function runWatched(
  [command = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  { warn }: Invocation['terminal'],
): Promise<number> {
  const deferred: string[] = []
  const notify = process.stderr.isTTY ? (line: string) => void deferred.push(line) : warn
  let watch: ConnectionWatch | undefined
  const onStart = (pid: number) => {
    watch = watchDirectConnections(pid, (connection) => notify(bypassNotice(connection)))
  }
  const code = await spawnCommand(command, args, env, { onStart })
  watch?.close()
  for (const line of deferred) warn(line)
  return code
}

type TrustPaths = Pick<AgentEnvironmentInput, 'caFile' | 'caBundleFile' | 'wgetrcFile' | 'javaStoreFile'>

/** Copies the certificates for a captured command, because the data folder is masked for the command. */
function copyTrust(dir: string, facts: RunFile): TrustPaths {
  const [caFile, caBundleFile] = [join(dir, 'ca.crt'), join(dir, 'ca-bundle.crt')]
  copyFileSync(facts.ca_file, caFile)
  copyFileSync(facts.ca_bundle_file, caBundleFile)
  return { caFile, ...writeStores(dir, caBundleFile) }
}

/** Writes the certificates in the formats of wget and Java. */
function writeStores(dir: string, caBundleFile: string): Omit<TrustPaths, 'caFile'> {
  const [wgetrcFile, javaStoreFile] = [join(dir, 'wgetrc'), join(dir, TRUST_FILES.java)]
  writePrivate(javaStoreFile, javaTrustStoreOf(certificatesIn(caBundleFile)), 0o644)
  writePrivate(wgetrcFile, `ca_certificate = ${caBundleFile}\n`, 0o644)
  return { caBundleFile, wgetrcFile, javaStoreFile }
}

/**
 * Prints the link with which the first owner registers. Must run before the first agent, which could otherwise register
 * as the owner and approve its own requests.
 */
async function printOwnerLink(api: ApiClient, invocation: Invocation): Promise<void> {
  const { terminal, cwd, folder } = invocation
  const link = await createOwnerLink(api, { isRequired: true })
  if (link === null) return
  // The link is printed only to a terminal, because the output of a program without a terminal may be stored in logs.
  const how = process.stderr.isTTY
    ? ` within an hour: ${link}`
    : `: ${commandName(cwd)} owner-link${dataOption(isFolderChosen(invocation) ? folder.root : null)}`
  terminal.warn(`chaperone: this installation has no owner yet. Become the owner${how}`)
  terminal.warn(
    'chaperone: from now on, the first owner can register only with such a link, so that an agent cannot register as owner.',
  )
}

function certificatesIn(bundleFile: string): readonly string[] {
  const text = readFileSync(bundleFile, 'utf8')
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
}

async function assertUsable(agents: Awaited<ReturnType<typeof listAgents>>, name: string): Promise<void> {
  const agent = agents.find((candidate) => candidate.name === name && candidate.status !== 'revoked')
  if (agent?.status === 'active') return
  const detail =
    agent === undefined
      ? `There is no agent ${name}. Create it: chaperone agent create ${shellQuote(name)}`
      : `Agent ${name} is suspended. Activate it: chaperone agent activate ${shellQuote(name)}`
  throw new ChaperoneError('conflict', { detail })
}
