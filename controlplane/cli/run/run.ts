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
import { dataOption } from '../up/next-steps.ts'
import { type AgentEnvironmentInput, agentEnvironment } from './agent-environment.ts'
import { agentProgramOf } from './agent-programs.ts'
import { type Watch, watchDirectConnections } from './direct-connections.ts'
import { bypassNotice, limitNotice, starterNotice } from './run-notices.ts'
import { spawnCommand } from './spawn-command.ts'

const NODE_PRELOAD = fileURLToPath(new URL('./node-preload/preload.cjs', import.meta.url))

export const run: Command = {
  name: 'run',
  summary:
    'Starts a command as an agent: every proxy and CA variable set, so that ordinary SDKs go through the gateway.',
  usage: ['run [--agent NAME] [--capture [--allow-local PORT]...] -- COMMAND [ARGUMENT...]'],
  details:
    "Input, output, signals and the exit code are the command's own. SDKs that insist on an API key get a placeholder when\n" +
    'none is set; the gateway puts the real one in. Only loopback addresses are reached directly.\n' +
    'With --capture (Linux) it runs in a network namespace of its own, from which every connection leads to the gateway: clients\n' +
    'that ignore proxy variables are governed, too. Servers, Unix sockets and processes of this machine are not reached from\n' +
    'there, and the data folder does not exist. chaperone doctor lists what holds and what does not. --allow-local lets the command\n' +
    'reach a server of this machine, for example a database: what it does there has no rules and no records.',
  maxArguments: Number.POSITIVE_INFINITY,
  options: {
    agent: { type: 'string', value: 'NAME', help: `which agent it acts as (default ${DEFAULT_AGENT})` },
    capture: {
      type: 'boolean',
      help: 'redirect every connection instead of setting proxy variables (Linux)',
    },
    'allow-local': {
      type: 'string',
      multiple: true,
      value: 'PORT',
      help: 'with --capture: let the command reach this TCP port of localhost, ungoverned (repeatable)',
    },
  },
  examples: [
    ['chaperone run -- claude', 'Claude Code, as the agent dev'],
    ['chaperone run -- python agent.py', 'any other program'],
    ['chaperone run --agent triage -- node triage.mjs', 'as another agent (chaperone agent create triage)'],
    ['chaperone run -- curl -sS -X DELETE https://api.github.com/repos/acme/site', 'denied, with the reason'],
    ['chaperone run --capture -- ./agent', 'an agent whose client knows of no proxy'],
    ['chaperone run --capture --allow-local 5432 -- ./agent', 'an agent with a database on this machine'],
    ['chaperone run -- sh', 'a shell in which everything is governed'],
  ],
  run: start,
}

async function start(invocation: Invocation): Promise<number> {
  const [command, ...args] = invocation.rest
  if (command === undefined)
    throw usageError(run, 'What should be started? Give it after --, e.g. chaperone run -- python agent.py.')
  const [stray] = invocation.positionals
  if (stray !== undefined)
    throw usageError(run, `${stray} stands before --: what is started, and its own words, go behind it.`)
  const { env, terminal } = invocation
  const inside = await runNamespaceProcess(invocation.rest, env)
  if (inside !== null) return inside
  const { folder } = invocation
  const localPorts = allowedPorts(list(invocation, 'allow-local'), { folder, env })
  if (localPorts.length > 0 && !flag(invocation, 'capture'))
    throw usageError(run, '--allow-local is for --capture: without it every port of this machine is reached.')
  const name = text(invocation, 'agent') ?? DEFAULT_AGENT
  const api = controlPlane(invocation)
  await assertUsable(await listAgents(api), name)
  await printOwnerLink(api, invocation)
  const agent = await registerAgent(localGateway(invocation), name)
  if (!(await waitUntilApplied(api, 'default/local', 5_000))) {
    terminal.warn('chaperone: the gateway has not taken over the newest configuration yet; starting anyway.')
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
    ...{ agent: name, key: agentKeyOf(agent.proxy_url), folder, command: invocation.rest, ownEnv: env },
    localPorts,
    hidden: [...maskedFolders(env), facts.manifests],
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

/** Runs the command and says once when it goes around the gateway: at its end where it may be drawing on the terminal. */
async function runWatched(
  [command = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  { warn }: Invocation['terminal'],
): Promise<number> {
  const later: string[] = []
  const tell = process.stderr.isTTY ? (line: string) => void later.push(line) : warn
  let watch: Watch | undefined
  const onStart = (pid: number) => {
    watch = watchDirectConnections(pid, (connection) => tell(bypassNotice(connection)))
  }
  const code = await spawnCommand(command, args, env, { onStart })
  watch?.close()
  for (const line of later) warn(line)
  return code
}

type TrustPaths = Pick<AgentEnvironmentInput, 'caFile' | 'caBundleFile' | 'wgetrcFile' | 'javaStoreFile'>

/** The certificates for a command that does not see the data folder. */
function copyTrust(dir: string, facts: RunFile): TrustPaths {
  const [caFile, caBundleFile] = [join(dir, 'ca.crt'), join(dir, 'ca-bundle.crt')]
  copyFileSync(facts.ca_file, caFile)
  copyFileSync(facts.ca_bundle_file, caBundleFile)
  return { caFile, ...writeStores(dir, caBundleFile) }
}

/** The same certificates for wget and Java. */
function writeStores(dir: string, caBundleFile: string): Omit<TrustPaths, 'caFile'> {
  const [wgetrcFile, javaStoreFile] = [join(dir, 'wgetrc'), join(dir, TRUST_FILES.java)]
  writePrivate(javaStoreFile, javaTrustStoreOf(certificatesIn(caBundleFile)), 0o644)
  writePrivate(wgetrcFile, `ca_certificate = ${caBundleFile}\n`, 0o644)
  return { caBundleFile, wgetrcFile, javaStoreFile }
}

/** Before the first agent starts: it could otherwise register as the owner and approve its own requests. */
async function printOwnerLink(api: ApiClient, invocation: Invocation): Promise<void> {
  const { terminal, cwd, folder } = invocation
  const link = await createOwnerLink(api, { isRequired: true })
  if (link === null) return
  // The link to a terminal only: logs keep what a program prints.
  const how = process.stderr.isTTY
    ? ` within an hour: ${link}`
    : `: ${commandName(cwd)} owner-link${dataOption(isFolderChosen(invocation) ? folder.root : null)}`
  terminal.warn(`chaperone: this installation has no owner yet. Become the owner${how}`)
  terminal.warn(
    'chaperone: from now on the first owner registers through an owner link only, because agents run here.',
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
      ? `There is no agent ${name}. Make it: chaperone agent create ${name}`
      : `Agent ${name} is suspended. Let it work again: chaperone agent activate ${name}`
  throw new ChaperoneError('conflict', { detail })
}
