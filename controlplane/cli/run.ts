import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { join } from 'node:path'
import { ChaperoneError } from '../../core/errors.ts'
import { agentEnvironment } from './agent-environment.ts'
import { usageError } from './arguments.ts'
import { controlPlane, localGateway, running } from './client.ts'
import { type Command, type Invocation, text } from './command.ts'
import { writePrivate } from './data-folder.ts'
import { DEFAULT_AGENT, listAgents, registerAgent, untilApplied } from './local-agents.ts'

export const run: Command = {
  name: 'run',
  summary:
    'Starts a command as an agent: every proxy and CA variable set, so that ordinary SDKs go through the gateway.',
  usage: ['run [--agent NAME] -- COMMAND [ARGUMENT...]'],
  details:
    "Input, output, signals and the exit code are the command's own. SDKs that insist on an API key get a placeholder when\n" +
    'none is set; the gateway puts the real one in. Only loopback addresses are reached directly.',
  options: {
    agent: { type: 'string', value: 'NAME', help: `which agent it acts as (default ${DEFAULT_AGENT})` },
  },
  examples: [
    ['chaperone run -- python agent.py', 'as the agent dev'],
    ['chaperone run --agent triage -- node triage.mjs', 'as another agent (chaperone agent create triage)'],
    ['chaperone run -- curl -sS -X DELETE https://api.github.com/repos/acme/site', 'denied, with the reason'],
    ['chaperone run -- sh', 'a shell in which everything is governed'],
  ],
  run: start,
}

async function start(invocation: Invocation): Promise<number> {
  const [command, ...args] = invocation.rest
  if (command === undefined)
    throw usageError(run, 'What should be started? Give it after --, e.g. chaperone run -- python agent.py.')
  const { folder, env, terminal } = invocation
  const name = text(invocation, 'agent') ?? DEFAULT_AGENT
  const api = controlPlane(invocation)
  await assertUsable(await listAgents(api), name)
  const agent = await registerAgent(localGateway(folder), name)
  if (!(await untilApplied(api, 'default/local', 5_000))) {
    terminal.warn('chaperone: the gateway has not taken over the newest configuration yet; starting anyway.')
  }
  const facts = running(folder)
  const wgetrcFile = join(folder.gateway, 'wgetrc')
  writePrivate(wgetrcFile, `ca_certificate = ${facts.ca_bundle_file}\n`, 0o644)
  const agentEnv = agentEnvironment({
    proxyUrl: agent.proxy_url,
    caFile: facts.ca_file,
    caBundleFile: facts.ca_bundle_file,
    wgetrcFile,
    env,
  })
  return await passThrough(command, args, agentEnv)
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

/** The command's exit code; 128 + n when a signal ended it, 127 when it was not found, 126 when it cannot be run. */
export function passThrough(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'inherit', env })
    const forward = (signal: NodeJS.Signals) => child.kill(signal)
    // A Ctrl-C in the terminal reaches the command directly; we only must not end before it.
    const stay = () => undefined
    const forwarded: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2']
    for (const signal of forwarded) process.on(signal, forward)
    process.on('SIGINT', process.stdin.isTTY ? stay : forward)
    child.once('error', (error: NodeJS.ErrnoException) => {
      process.stderr.write(
        `chaperone: ${command} cannot be started: ${error.code === 'ENOENT' ? 'not found' : error.message}\n`,
      )
      resolve(error.code === 'ENOENT' ? 127 : 126)
    })
    child.once('exit', (code, signal) => {
      for (const name of forwarded) process.off(name, forward)
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
    })
  })
}
