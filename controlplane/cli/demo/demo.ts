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
  summary:
    'Plays the whole story on this machine: allowed, held, denied, stopped. No account, no internet, nothing left behind.',
  usage: ['demo [--yes]'],
  details:
    "Starts everything in a temporary folder with a stand-in of the code host. The agent uses the code host's own SDK with\n" +
    'the real address; npm run test:clients drives many more.',
  options: { yes: { type: 'boolean', short: 'y', help: 'approve by itself and end by itself' } },
  examples: [
    ['chaperone demo', 'you are the one who approves, here or in the browser'],
    ['chaperone demo --yes', 'without questions, in about ten seconds'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { terminal } = invocation
  const root = mkdtempSync(join(tmpdir(), 'chaperone-demo-'))
  const folder = dataFolder(join(root, 'data'))
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort()
  // Every one of them: npm passes on a Ctrl-C that the terminal has sent here already.
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', interrupt)
  const standIn = await startMockCodeHost()
  let installation: Installation | undefined
  try {
    terminal.print('Starting control plane, gateway and database in a temporary folder ...')
    installation = await start(invocation, folder, standIn, interrupted.signal)
    const played = play(invocation, installation, standIn, folder)
    const isStopped = await Promise.race([played.then(() => false), aborted(interrupted.signal)])
    // Its failure after a stop is a consequence of the stop.
    if (isStopped) played.catch(() => undefined)
    const ownStart = commandName(invocation.cwd) === 'chaperone' ? 'chaperone up' : 'npm start'
    terminal.print(isStopped ? '\nStopped.' : `\nThat was it. Start your own: ${ownStart}`)
    return isStopped ? EXIT.refused : EXIT.ok
  } finally {
    await installation?.stop()
    await standIn.close()
    removeInstallationKey(invocation.env, folder.root)
    rmSync(root, { recursive: true, force: true })
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', interrupt)
  }
}

async function start(
  { env, terminal }: Invocation,
  folder: DataFolder,
  standIn: MockCodeHost,
  signal: AbortSignal,
): Promise<Installation> {
  prepareDataFolder(folder)
  mkdirSync(folder.manifests, { mode: 0o700 })
  writeFileSync(join(folder.manifests, 'demo.yaml'), demoManifests(standIn.url))
  const { DATABASE_URL: _own, ...rest } = env
  const options = {
    folder,
    manifests: folder.manifests,
    host: '127.0.0.1',
    port: 0,
    gatewayPort: 0,
    withGateway: true,
    // The story answers by itself, or at this terminal.
    approvals: 'token' as const,
    env: rest,
  }
  return await startInstallation({ ...options, warn: (line) => terminal.warn(`chaperone: ${line}`) }, signal)
}

async function play(
  invocation: Invocation,
  { facts }: Installation,
  standIn: MockCodeHost,
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
    // A key of the caller's has no business here.
    env: { ...env, GITHUB_TOKEN: '' },
  })
  await runScenario({
    api,
    standIn,
    agentEnv,
    isYes: flag(invocation, 'yes'),
    isInteractive: terminal.isInteractive,
    approvalLink: facts.owner_link ?? `${facts.base_url}/#approvals`,
    approveCommand: `${commandName(invocation.cwd)} approvals approve --data ${shellQuote(folder.root)}`,
    say: terminal.print,
  })
  await printRecords(api, terminal.print)
}

async function printRecords(api: ApiClient, print: (line: string) => void): Promise<void> {
  print('\nEverything left a record:')
  for (const line of await trafficLines(api, 4)) print(`   ${line}`)
}

function aborted(signal: AbortSignal): Promise<true> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(true), { once: true }))
}
