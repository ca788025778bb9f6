import { delimiter } from 'node:path'
import {
  JAVA_OPTIONS_VARIABLE,
  javaOptions,
  PLACEHOLDER_KEYS,
  proxyVariables,
  trustVariables,
} from '../../core/capture/client-variables.ts'

export type AgentEnvironmentInput = {
  /** `http://127.0.0.1:PORT`, the agent's own port. */
  readonly proxyUrl: string
  readonly caFile: string
  /** Public roots and ours: for everything that replaces its roots by the file. */
  readonly caBundleFile: string
  /** A wgetrc that names the bundle; wget knows no variable for it. */
  readonly wgetrcFile: string
  /** What the command would have got without us. */
  readonly env: NodeJS.ProcessEnv
}

/** The whole environment of a governed command. */
export function agentEnvironment(input: AgentEnvironmentInput): NodeJS.ProcessEnv {
  const { proxyUrl, caFile, caBundleFile, wgetrcFile, env } = input
  const placeholders = Object.entries(PLACEHOLDER_KEYS).filter(([name]) => !env[name])
  const java = [env[JAVA_OPTIONS_VARIABLE], javaOptions({ proxyUrl })]
  return {
    ...env,
    ...Object.fromEntries(placeholders),
    ...proxyVariables(proxyUrl),
    ...trustVariables({ caFile, bundleFile: caBundleFile, wgetrcFile }),
    [JAVA_OPTIONS_VARIABLE]: java.filter(Boolean).join(' '),
  }
}

/** The command's folders, for looking it up on PATH. */
export function searchPath(env: NodeJS.ProcessEnv): string[] {
  return (env['PATH'] ?? '').split(delimiter).filter((dir) => dir !== '')
}
