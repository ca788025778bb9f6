export type AgentCommand = { readonly title: string; readonly about: string; readonly text: string }

/**
 * Returns the commands that start the agent: one for the machine of the gateway, and one with proxy variables for any
 * other machine, unless the gateway listens on loopback only.
 */
export function agentCommands(facts: {
  /** Command line of this installation. */
  readonly command: string
  readonly agent: string
  readonly apiKey: string | null
  readonly host: string
  readonly port: number
  readonly isLocal: boolean
}): readonly AgentCommand[] {
  const { command, agent, apiKey, host, port, isLocal } = facts
  const local = {
    title: 'On this machine',
    about: 'Sets the proxy and certificate variables for the command and its child processes.',
    text: `${command} run --agent ${shellQuoted(agent)} -- python agent.py`,
  }
  const login = `${encodeURIComponent(agent)}:${apiKey ?? 'ITS_KEY'}`
  const proxy = `http://${login}@${host.includes(':') ? `[${host}]` : host}:${port}`
  const anywhere = {
    title: 'On another machine',
    about:
      'Copy ca-bundle.crt from the data folder of the gateway. It contains the public root certificates and the CA certificate of the gateway.',
    text: [
      `export HTTPS_PROXY=${shellQuoted(proxy)}`,
      'export HTTP_PROXY=$HTTPS_PROXY',
      'export SSL_CERT_FILE=ca-bundle.crt REQUESTS_CA_BUNDLE=ca-bundle.crt CURL_CA_BUNDLE=ca-bundle.crt',
      'export NODE_USE_ENV_PROXY=1 NODE_EXTRA_CA_CERTS=ca-bundle.crt',
      'python agent.py',
    ].join('\n'),
  }
  if (isLocal) return isLoopback(host) ? [local] : [local, anywhere]
  return [anywhere]
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}

/** Returns the shell command that starts a new gateway. */
export function gatewayCommand(controlPlane: string, token: string, port: number): string {
  return [
    '(umask 077; mkdir -p gateway)',
    `(umask 077; printf %s ${shellQuoted(token)} > gateway/enrol.token)`,
    `CONTROL_PLANE_URL=${shellQuoted(controlPlane)} GATEWAY_TOKEN_FILE=gateway/enrol.token INTERNAL_TOKEN_FILE=gateway/gateway.token \\`,
    `  DATA_DIR=gateway/data CA_CERT_FILE=gateway/ca.crt CA_KEY_FILE=gateway/ca.key CA_BUNDLE_FILE=gateway/ca-bundle.crt \\`,
    `  PORT=${port} node sidecar/main.ts`,
  ].join('\n')
}

/** Quotes a word for a POSIX shell. */
function shellQuoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
