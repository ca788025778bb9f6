import { delimiter } from 'node:path'
import {
  JAVA_OPTIONS_VARIABLE,
  javaOptions,
  PLACEHOLDER_KEYS,
  proxyVariables,
  trustVariables,
} from '../../../core/capture/client-variables.ts'
import { offSwitches } from '../../../core/capture/off-switches.ts'
import { TRUST_FILES } from '../../../core/capture/pod-contract.ts'

export type AgentEnvironmentInput = {
  /**
   * Proxy URL of the agent's port, `http://NAME:KEY@127.0.0.1:PORT`. Null under capture, because connections are then
   * redirected to the gateway without a proxy setting.
   */
  readonly proxyUrl: string | null
  readonly caFile: string
  /**
   * PEM file with the public root certificates and the gateway's CA, for clients that replace their root certificates
   * with this file.
   */
  readonly caBundleFile: string
  /** A wgetrc file with the path of the CA bundle, because wget has no environment variable for that path. */
  readonly wgetrcFile: string
  /** Java trust store with the root certificates of the CA bundle. */
  readonly javaStoreFile?: string
  /** Script that every Node program loads before its own code; absent under capture. */
  readonly nodePreloadFile?: string
  /** Environment of this process. */
  readonly env: NodeJS.ProcessEnv
}

/** Returns the complete environment of a governed command. */
export function agentEnvironment(input: AgentEnvironmentInput): NodeJS.ProcessEnv {
  const { proxyUrl, caFile, caBundleFile, wgetrcFile, javaStoreFile, nodePreloadFile, env } = input
  const placeholders = Object.entries(PLACEHOLDER_KEYS).filter(([name]) => !env[name])
  const trustStore = javaStoreFile && { file: javaStoreFile, password: TRUST_FILES.javaPassword }
  const java = [
    env[JAVA_OPTIONS_VARIABLE],
    javaOptions({ trustStore: trustStore || undefined, proxyUrl: proxyUrl ?? undefined }),
  ]
  return {
    ...withoutSecrets(proxyUrl === null ? withoutProxies(env) : env),
    ...Object.fromEntries(placeholders),
    ...offSwitches(env),
    ...(proxyUrl === null ? {} : proxyVariables(proxyUrl)),
    ...trustVariables({ caFile, bundleFile: caBundleFile, wgetrcFile }),
    [JAVA_OPTIONS_VARIABLE]: java.filter(Boolean).join(' '),
    ...(proxyUrl === null || nodePreloadFile === undefined
      ? {}
      : { NODE_OPTIONS: withPreload(env['NODE_OPTIONS'], nodePreloadFile) }),
  }
}

/**
 * Appends the option `--require`. It does not append `--import`, because Node before 18.18 exits with an error on
 * `--import` in NODE_OPTIONS. Inside quotes in NODE_OPTIONS, a backslash is an escape character.
 */
function withPreload(options: string | undefined, file: string): string {
  const preload = `--require "${file.replace(/["\\]/g, '\\$&')}"`
  if (options?.includes(preload)) return options
  return [options?.trim(), preload].filter(Boolean).join(' ')
}

/**
 * Variables that may contain credentials of the user or of the installation. The environment of an agent must not
 * contain these variables.
 */
const SECRET_VARIABLES = new Set([
  'CHAPERONE_TOKEN',
  'CHAPERONE_CLIENT_CERT',
  'CHAPERONE_CLIENT_KEY',
  'MASTER_KEY',
  'MASTER_KEY_FILE',
  'MAINTENANCE_SECRET',
  'DATABASE_URL',
])

function withoutSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !SECRET_VARIABLES.has(name)))
}

/**
 * Returns the environment without the user's proxy variables, because the user's proxy is unreachable under capture.
 */
function withoutProxies(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const proxies = new Set(Object.keys(proxyVariables('http://127.0.0.1:1')))
  return Object.fromEntries(Object.entries(env).filter(([name]) => !proxies.has(name)))
}

export function searchPath(env: NodeJS.ProcessEnv): string[] {
  return (env['PATH'] ?? '').split(delimiter).filter((dir) => dir !== '')
}
