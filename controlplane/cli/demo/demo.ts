import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ApiClient, createClient } from '../client/client.ts'
import { removeInstallationKey } from '../client/installation-key.ts'
import { type Command, EXIT, flag, type Invocation } from '../command.ts'
import { trafficLines } from '../commands/traffic.ts'
import { agentEnvironment } from '../run/agent-environment.ts'
import { type DataFolder, dataFolder, prepareDataFolder } from '../state/data-folder.ts'
import { commandName } from '../terminal/command-name.ts'
import { shellQuote } from '../terminal/shell-quote.ts'
import { type Installation, startInstallation } from '../up/installation.ts'
import { demoManifests } from './manifests.ts'
import { type MockCodeHost, startMockCodeHost } from './mock-code-host.ts'
import { runScenario } from './scenario.ts'

export const demo: Command = {
  name: 'demo',
  summary: 'Show an allowed, a held and a denied request and the kill switch, without an account',
  usage: ['demo [--yes]'],
  details:
    'Starts an installation in a temporary folder, with a mock of the code host, and removes it at the end. Requires no internet access.\n' +
    "The agent uses the code host's SDK with the real address.",
  options: { yes: { type: 'boolean', short: 'y', help: 'approve the held request without a prompt' } },
  examples: [
    ['chaperone demo', 'run the demo, and approve at the terminal or in the browser'],
    ['chaperone demo --yes', 'run the demo without a prompt, in about ten seconds'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { terminal } = invocation
  const root = mkdtempSync(join(tmpdir(), 'chaperone-demo-'))
  const folder = dataFolder(join(root, 'data'))
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort()
  // The listener is added by `on` and not by `once`: npm forwards a Ctrl-C that the terminal has already sent to this
  // process, and a second signal without a listener would end the process.
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', interrupt)
  const mock = await startMockCodeHost()
  let installation: Installation | undefined
  try {
    terminal.print('Starting control plane, gateway and database in a temporary folder ...')
    installation = await start(invocation, folder, mock, interrupted.signal)
    const played = play(invocation, installation, mock, folder)
    const isStopped = await Promise.race([played.then(() => false), aborted(interrupted.signal)])
    // An interrupt makes the scenario reject. This rejection is ignored, because an interrupt is not an error.
    if (isStopped) played.catch(() => undefined)
    const startCommand = commandName(invocation.cwd) === 'chaperone' ? 'chaperone up' : 'npm start'
    terminal.print(
      isStopped ? '\nStopped.' : `\nThe demo is complete. Start your own installation: ${startCommand}`,
    )
    return isStopped ? EXIT.refused : EXIT.ok
  } finally {
    await installation?.stop()
    await mock.close()
    removeInstallationKey(invocation.env, folder.root)
    rmSync(root, { recursive: true, force: true })
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', interrupt)
  }
}

async function start(
  { env, cwd, terminal }: Invocation,
  folder: DataFolder,
  mock: MockCodeHost,
  signal: AbortSignal,
): Promise<Installation> {
  prepareDataFolder(folder)
  mkdirSync(folder.manifests, { mode: 0o700 })
  writeFileSync(join(folder.manifests, 'demo.yaml'), demoManifests(mock.url))
  const { DATABASE_URL: _own, ...rest } = env
  const options = {
    folder,
    manifests: folder.manifests,
    host: '127.0.0.1',
    port: 0,
    gatewayPort: 0,
    withGateway: true,
    // With the mode `token`, the demo can approve a request without a user session.
    approvals: 'token' as const,
    command: commandName(cwd),
    env: rest,
  }
  return await startInstallation({ ...options, warn: (line) => terminal.warn(`chaperone: ${line}`) }, signal)
}

async function play(
  invocation: Invocation,
  { facts }: Installation,
  mock: MockCodeHost,
  folder: DataFolder,
): Promise<void> {
  const { terminal, env } = invocation
  const api = createClient(facts.base_url, readFileSync(folder.adminToken, 'utf8').trim(), 'control plane')
  const wgetrcFile = join(folder.gateway, 'wgetrc')
  const agentEnv = agentEnvironment({
    proxyUrl: facts.agents[0]?.proxy_url ?? '',
    caFile: facts.ca_file,
    caBundleFile: facts.ca_bundle_file,
    wgetrcFile,
    // The agent must not have the user's own key for the code host.
    env: { ...env, GITHUB_TOKEN: '' },
  })
  await runScenario({
    api,
    mock,
    agentEnv,
    isYes: flag(invocation, 'yes'),
    isInteractive: terminal.isInteractive,
    approvalLink: facts.owner_link ?? `${facts.base_url}/#approvals`,
    approveCommand: `${commandName(invocation.cwd)} approvals approve --data ${shellQuote(folder.root)}`,
    print: terminal.print,
  })
  await printRecords(api, terminal.print)
}

async function printRecords(api: ApiClient, print: (line: string) => void): Promise<void> {
  print('\nEvery request has a record:')
  for (const line of await trafficLines(api, 4)) print(`   ${line}`)
}

function aborted(signal: AbortSignal): Promise<true> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(true), { once: true }))
}
