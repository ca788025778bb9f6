import { delimiter } from 'node:path'

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

/** Clients that replace their roots by this file. */
const BUNDLE_VARIABLES = [
  'SSL_CERT_FILE',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'AWS_CA_BUNDLE',
  'PIP_CERT',
  'DENO_CERT',
  'CARGO_HTTP_CAINFO',
  'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
  'HTTPLIB2_CA_CERTS',
  'CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE',
  'NIX_SSL_CERT_FILE',
]

/** SDKs refuse to start without a key; the gateway removes these and puts the real ones in. */
const PLACEHOLDER_KEYS: Readonly<Record<string, string>> = {
  GITHUB_TOKEN: 'chaperone-placeholder',
  GH_TOKEN: 'chaperone-placeholder',
  OPENAI_API_KEY: 'sk-chaperone-placeholder',
  ANTHROPIC_API_KEY: 'sk-ant-chaperone-placeholder',
  STRIPE_API_KEY: 'sk_test_chaperone_placeholder',
  SLACK_BOT_TOKEN: 'xoxb-chaperone-placeholder',
}

/** Only this machine is reached directly: any other exception would be a way around the gateway. */
const LOOPBACK = 'localhost,127.0.0.1,::1'

/** The whole environment of a governed command. */
export function agentEnvironment(input: AgentEnvironmentInput): NodeJS.ProcessEnv {
  const { proxyUrl, caFile, caBundleFile, wgetrcFile, env } = input
  const proxies = { HTTPS_PROXY: proxyUrl, HTTP_PROXY: proxyUrl, ALL_PROXY: proxyUrl, NO_PROXY: LOOPBACK }
  const bothCases = Object.entries(proxies).flatMap(([name, value]) => [
    [name, value],
    [name.toLowerCase(), value],
  ])
  const bundles = BUNDLE_VARIABLES.map((name) => [name, caBundleFile])
  const placeholders = Object.entries(PLACEHOLDER_KEYS).filter(([name]) => !env[name])
  return {
    ...env,
    ...Object.fromEntries([...bothCases, ...bundles, ...placeholders]),
    NODE_USE_ENV_PROXY: '1',
    NODE_EXTRA_CA_CERTS: caFile,
    WGETRC: wgetrcFile,
    JAVA_TOOL_OPTIONS: [env['JAVA_TOOL_OPTIONS'], javaOptions(proxyUrl)].filter(Boolean).join(' '),
  }
}

function javaOptions(proxyUrl: string): string {
  const { hostname, port } = new URL(proxyUrl)
  return [
    `-Dhttps.proxyHost=${hostname} -Dhttps.proxyPort=${port}`,
    `-Dhttp.proxyHost=${hostname} -Dhttp.proxyPort=${port}`,
    `-Dhttp.nonProxyHosts=localhost|127.*|[::1]`,
    '-Djdk.http.auth.tunneling.disabledSchemes=',
  ].join(' ')
}

/** The command's folders, for looking it up on PATH. */
export function searchPath(env: NodeJS.ProcessEnv): string[] {
  return (env['PATH'] ?? '').split(delimiter).filter((dir) => dir !== '')
}
