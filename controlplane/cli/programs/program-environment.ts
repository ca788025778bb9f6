import { isIP } from 'node:net'
import { GATEWAY_MALLOC } from '../../../core/gateway-flags.ts'
import { isLoopback } from '../../../core/loopback.ts'
import { authorityText } from '../../../core/request/authority-text.ts'
import { COMPILE_CACHE } from '../compile-cache.ts'
import type { DataFolder } from '../state/data-folder.ts'

export type Addresses = {
  readonly host: string
  readonly port: number
  readonly gatewayPort: number
  readonly manifests: string
  /** False for an installation without a gateway (`--no-gateway`). */
  readonly withGateway: boolean
  readonly approvals: 'session' | 'token'
  /** Whether manifests may name environment variables, files and commands of this machine as credentials. */
  readonly localCredentials: boolean
  /** Command line of this installation, for texts of the dashboard. */
  readonly command: string
  /** File with the installation key, with which commands authenticate the servers. */
  readonly installationKeyFile: string
}

const CACHED: NodeJS.ProcessEnv = { NODE_COMPILE_CACHE: COMPILE_CACHE }

/**
 * Returns the environment of this process for a child process, without proxy variables and without the variables that
 * other settings of the child replace.
 */
function inherited(env: NodeJS.ProcessEnv, cache: NodeJS.ProcessEnv = CACHED): NodeJS.ProcessEnv {
  const foreign =
    /^(https?_proxy|all_proxy|no_proxy|node_use_env_proxy|host|port|node_channel_fd|node_options)$/i
  const kept = Object.entries(env).filter(([name]) => !foreign.test(name))
  return { ...cache, ...Object.fromEntries(kept) }
}

export function controlPlaneEnvironment(
  folder: DataFolder,
  addresses: Addresses,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  return {
    ...inherited(env),
    HOST: addresses.host,
    LISTEN_LOOPBACK: 'on',
    PORT: String(addresses.port),
    ...(env['MASTER_KEY'] || env['MASTER_KEY_FILE'] ? {} : { MASTER_KEY_FILE: folder.masterKey }),
    ADMIN_TOKEN_FILE: folder.adminToken,
    ...(addresses.withGateway ? { LOCAL_GATEWAY_TOKEN_FILE: folder.enrolToken } : {}),
    OPERATOR_TOKEN_FILE: folder.operatorToken,
    APPROVALS: addresses.approvals,
    LOCAL_CREDENTIALS: addresses.localCredentials ? 'on' : 'off',
    CLI_COMMAND: addresses.command,
    INSTALLATION_KEY_FILE: addresses.installationKeyFile,
  }
}

export function gatewayEnvironment(
  folder: DataFolder,
  addresses: Addresses,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  return {
    ...GATEWAY_MALLOC,
    // The gateway runs without a compile cache. Its program is one file and starts equally fast without the cache, and
    // the cache would use memory.
    ...inherited(env, {}),
    HOST: '127.0.0.1',
    PORT: String(addresses.gatewayPort),
    CONTROL_PLANE_URL: baseUrl(addresses),
    GATEWAY_TOKEN_FILE: folder.enrolToken,
    INTERNAL_TOKEN_FILE: folder.gatewayToken,
    DATA_DIR: folder.gateway,
    CA_CERT_FILE: folder.caCert,
    CA_KEY_FILE: folder.caKey,
    CA_BUNDLE_FILE: folder.caBundle,
    CAPTURE_SOCKET: folder.captureSocket,
    INSTALLATION_KEY_FILE: addresses.installationKeyFile,
  }
}

export function operatorEnvironment(
  folder: DataFolder,
  addresses: Addresses,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  return {
    ...inherited(env),
    MANIFESTS_DIR: addresses.manifests,
    CONTROL_PLANE_URL: baseUrl(addresses),
    OPERATOR_TOKEN_FILE: folder.operatorToken,
  }
}

type Listening = Pick<Addresses, 'host' | 'port'>

/**
 * Returns the control plane's address for programs on this machine. The address is always a loopback address, because a
 * network address can belong to another machine after a change of networks.
 */
export function baseUrl({ host, port }: Listening): string {
  return urlOf(isLoopback(host) && isIP(host) !== 0 ? host : '127.0.0.1', port)
}

/** Returns the address of the dashboard for users. */
export function dashboardUrl({ host, port }: Listening): string {
  return urlOf(host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host, port)
}

function urlOf(host: string, port: number): string {
  return `http://${authorityText(host, port)}`
}
