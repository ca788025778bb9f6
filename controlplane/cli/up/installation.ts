import { rmSync } from 'node:fs'
import {
  DEFAULT_AGENT,
  ensureDefaultAgent,
  type LocalAgent,
  listAgents,
  registerAgent,
  registeredAgents,
  waitUntilApplied,
} from '../client/agents.ts'
import { type ApiClient, createClient } from '../client/client.ts'
import { ensureInstallationKey } from '../client/installation-key.ts'
import { createOwnerLink } from '../client/owner-link-client.ts'
import { manifestFindings } from '../commands/get.ts'
import { type Addresses, baseUrl, dashboardUrl } from '../programs/program-environment.ts'
import { type DataFolder, prepareDataFolder, type RunFile, writePrivate } from '../state/data-folder.ts'
import { type FolderLock, lockFolder } from '../state/folder-lock.ts'
import { choosePort } from './choose-port.ts'
import { recordGatewayAddress } from './gateway-address.ts'
import { ensureSecrets, type InstallationSecrets } from './installation-secrets.ts'
import { type Processes, startProcesses } from './processes.ts'
import { assertDataFolderMasked, protectManifests } from './protect-manifests.ts'
import { startOnPorts } from './retry-ports.ts'
import { ensureManifests } from './starter-manifests.ts'

export type InstallationOptions = {
  readonly folder: DataFolder
  readonly manifests: string
  readonly host: string
  /** Port of the control plane; 0 selects any free port. */
  readonly port: number
  readonly gatewayPort: number
  readonly withGateway: boolean
  /**
   * `session`: after the registration of an owner, approvals require a session. `token`: the admin token, with which
   * commands authenticate, is sufficient for approvals.
   */
  readonly approvals: 'session' | 'token'
  /** True if the user has checked a manifests folder that was replaced. */
  readonly trustsManifests?: boolean
  /** Command line of this installation, for texts of the dashboard. */
  readonly command: string
  readonly env: NodeJS.ProcessEnv
  readonly warn: (line: string) => void
}

/** Facts about the installation, which `chaperone up --json` prints as one line. */
export type Facts = {
  readonly base_url: string
  readonly gateway_url: string | null
  readonly ca_file: string
  readonly ca_bundle_file: string
  /** Link with which the first owner registers; null when the installation has an owner. */
  readonly owner_link: string | null
  readonly agents: readonly LocalAgent[]
}

export type Installation = { readonly facts: Facts; readonly starterWritten: boolean; stop(): Promise<void> }

/** Starts every process of an installation. Rejects with a `ChaperoneError`; started processes are stopped first. */
export async function startInstallation(
  options: InstallationOptions,
  signal: AbortSignal,
): Promise<Installation> {
  prepareDataFolder(options.folder)
  const lock = await lockFolder(options.folder.lock)
  try {
    return await startLocked(options, lock, signal)
  } catch (error) {
    lock.release()
    throw error
  }
}

async function startLocked(
  options: InstallationOptions,
  lock: FolderLock,
  signal: AbortSignal,
): Promise<Installation> {
  const { folder, manifests, warn, env, withGateway } = options
  // The installation key lists the data folder for captures that start later.
  const installationKeyFile = ensureInstallationKey(env, folder.root)
  await assertDataFolderMasked(env, folder.root)
  const keys = ensureSecrets(folder)
  const { created: starterWritten } = ensureManifests(manifests)
  const isTrusted = starterWritten || options.trustsManifests === true
  const localCredentials = await protectManifests({ ...options, isTrusted })
  const { ports: addresses, started: processes } = await startOnPorts(
    options.port === 0 || (withGateway && options.gatewayPort === 0),
    () => chooseAddresses(options, { installationKeyFile, localCredentials }),
    (chosen) => startProcesses({ folder, addresses: chosen, keys, env, warn }, signal),
  )
  try {
    const run = writeRunFile(folder, addresses, withGateway)
    const facts = { ...(await settle(run, keys, warn)), base_url: dashboardUrl(addresses) }
    return { facts, starterWritten, stop: () => stopLocked(folder, processes, lock) }
  } catch (error) {
    await processes.stop()
    rmSync(folder.run, { force: true })
    throw error
  }
}

async function chooseAddresses(
  options: InstallationOptions,
  given: Pick<Addresses, 'installationKeyFile' | 'localCredentials'>,
): Promise<Addresses> {
  const { host, manifests, withGateway, approvals, command } = options
  return {
    host,
    port: await choosePort(host, options.port, '--port'),
    gatewayPort: withGateway ? await choosePort('127.0.0.1', options.gatewayPort, '--gateway-port') : 0,
    manifests,
    withGateway,
    approvals,
    command,
    ...given,
  }
}

async function stopLocked(folder: DataFolder, processes: Processes, lock: FolderLock): Promise<void> {
  rmSync(folder.run, { force: true })
  await processes.stop()
  lock.release()
}

function writeRunFile(folder: DataFolder, addresses: Addresses, withGateway: boolean): RunFile {
  const run: RunFile = {
    pid: process.pid,
    base_url: baseUrl(addresses),
    gateway_url: withGateway ? `http://127.0.0.1:${addresses.gatewayPort}` : null,
    gateway_port: withGateway ? addresses.gatewayPort : null,
    ca_file: folder.caCert,
    ca_bundle_file: folder.caBundle,
    manifests: addresses.manifests,
    started_at: new Date().toISOString(),
  }
  writePrivate(folder.run, `${JSON.stringify(run, null, 2)}\n`, 0o644)
  return run
}

async function settle(run: RunFile, keys: InstallationSecrets, warn: (line: string) => void): Promise<Facts> {
  const api = createClient(run.base_url, keys.adminToken, 'control plane')
  const [owner, agents] = await Promise.all([
    createOwnerLink(api),
    run.gateway_url === null ? [] : openAgentPorts(api, run, { keys, warn }),
  ])
  const { problems } = await manifestFindings(api)
  for (const problem of problems) warn(`manifest problem: ${problem}`)
  const { base_url, gateway_url, ca_file, ca_bundle_file } = run
  return { base_url, gateway_url, ca_file, ca_bundle_file, owner_link: owner, agents }
}

async function openAgentPorts(
  api: ApiClient,
  run: RunFile,
  { keys, warn }: { readonly keys: InstallationSecrets; readonly warn: (line: string) => void },
): Promise<LocalAgent[]> {
  const gateway = createClient(run.gateway_url ?? '', keys.gatewayToken, 'gateway')
  await Promise.all([ensureDefaultAgent(api), recordGatewayAddress(api, run.gateway_port ?? 0)])
  const isUsable = (await listAgents(api)).some(
    ({ name, status }) => name === DEFAULT_AGENT && status === 'active',
  )
  if (isUsable) await registerAgent(gateway, DEFAULT_AGENT)
  if (!(await waitUntilApplied(api)))
    warn('The gateway has not applied the newest rules yet. See: chaperone status')
  return await registeredAgents(gateway)
}
