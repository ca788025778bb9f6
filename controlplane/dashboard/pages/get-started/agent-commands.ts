export type AgentCommand = { readonly title: string; readonly about: string; readonly text: string }

/** What starts the agent: beside the gateway, or anywhere with variables that every SDK knows. */
export function agentCommands(facts: {
  readonly agent: string
  readonly apiKey: string | null
  readonly host: string
  readonly port: number
  readonly isLocal: boolean
}): readonly AgentCommand[] {
  const { agent, apiKey, host, port, isLocal } = facts
  const local = {
    title: 'On this machine',
    about: 'Sets every proxy and certificate variable for the command and all that it starts.',
    text: `chaperone run --agent ${shellWord(agent)} -- python agent.py`,
  }
  const login = `${encodeURIComponent(agent)}:${apiKey ?? 'ITS_KEY'}`
  const proxy = `http://${login}@${host.includes(':') ? `[${host}]` : host}:${port}`
  const anywhere = {
    title: 'Anywhere else',
    about: 'ca-bundle.crt lies in the data folder of the gateway: public roots and its own.',
    text: [
      `export HTTPS_PROXY=${shellWord(proxy)}`,
      'export HTTP_PROXY=$HTTPS_PROXY',
      'export SSL_CERT_FILE=ca-bundle.crt REQUESTS_CA_BUNDLE=ca-bundle.crt CURL_CA_BUNDLE=ca-bundle.crt',
      'export NODE_USE_ENV_PROXY=1 NODE_EXTRA_CA_CERTS=ca-bundle.crt',
      'python agent.py',
    ].join('\n'),
  }
  return isLocal ? [local, anywhere] : [anywhere]
}

/** What starts a new gateway's process. */
export function gatewayCommand(controlPlane: string, token: string, port: number): string {
  return [
    '(umask 077; mkdir -p gateway)',
    `(umask 077; printf %s ${shellWord(token)} > gateway/enrol.token)`,
    `CONTROL_PLANE_URL=${shellWord(controlPlane)} GATEWAY_TOKEN_FILE=gateway/enrol.token INTERNAL_TOKEN_FILE=gateway/gateway.token \\`,
    `  DATA_DIR=gateway/data CA_CERT_FILE=gateway/ca.crt CA_KEY_FILE=gateway/ca.key CA_BUNDLE_FILE=gateway/ca-bundle.crt \\`,
    `  PORT=${port} node sidecar/main.ts`,
  ].join('\n')
}

/** A word for a POSIX shell. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
