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
  /** `http://NAME:KEY@127.0.0.1:PORT`, the agent's own port; null where connections are redirected and nobody needs a proxy. */
  readonly proxyUrl: string | null
  readonly caFile: string
  /** Public roots and ours: for everything that replaces its roots by the file. */
  readonly caBundleFile: string
  /** A wgetrc that names the bundle; wget knows no variable for it. */
  readonly wgetrcFile: string
  /** The same roots for Java. */
  readonly javaStoreFile?: string
  /** Loaded into every Node program; needed where a proxy is. */
  readonly nodePreloadFile?: string
  /** What the command would have got without us. */
  readonly env: NodeJS.ProcessEnv
}

/** The whole environment of a governed command. */
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
 * Appends `--require` to what the command has: Node before 18.18 refuses to start with `--import` in NODE_OPTIONS. In
 * quotes, a backslash escapes.
 */
function withPreload(options: string | undefined, file: string): string {
  const preload = `--require "${file.replace(/["\\]/g, '\\$&')}"`
  if (options?.includes(preload)) return options
  return [options?.trim(), preload].filter(Boolean).join(' ')
}

/** Variables with which a command would be more than an agent. */
const OWN_SECRETS = new Set([
  'CHAPERONE_TOKEN',
  'CHAPERONE_CLIENT_CERT',
  'CHAPERONE_CLIENT_KEY',
  'MASTER_KEY',
  'MASTER_KEY_FILE',
  'MAINTENANCE_SECRET',
  'DATABASE_URL',
])

function withoutSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !OWN_SECRETS.has(name)))
}

/** A proxy of the user's own is not reached from where connections are redirected. */
function withoutProxies(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const proxies = new Set(Object.keys(proxyVariables('http://127.0.0.1:1')))
  return Object.fromEntries(Object.entries(env).filter(([name]) => !proxies.has(name)))
}

/** The command's folders, for looking it up on PATH. */
export function searchPath(env: NodeJS.ProcessEnv): string[] {
  return (env['PATH'] ?? '').split(delimiter).filter((dir) => dir !== '')
}
