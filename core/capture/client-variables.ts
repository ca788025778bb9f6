/**
 * Environment variables that make ordinary clients use the gateway and trust its certificates. `chaperone run` and the
 * injector share this table.
 */

/** Certificate files that the variables of `trustVariables` refer to. */
export type ClientTrust = {
  /** PEM file with the gateway's certificate authority only. */
  readonly caFile: string
  /** PEM file with the public roots and the gateway's certificate authority. */
  readonly bundleFile: string
  /** File in wgetrc format that refers to the bundle. */
  readonly wgetrcFile: string
}

/** Trust store of Java: a PKCS#12 file with the same roots as the bundle. */
export type JavaTrustStore = { readonly file: string; readonly password: string }

/**
 * Environment variables that replace the trusted roots of a client. The value of these variables is the bundle, because
 * the bundle also contains the public roots.
 */
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

/**
 * Placeholder API keys, because SDKs refuse to start without a key. The gateway replaces the placeholder in requests
 * with the real credential. A placeholder is set only where its variable is unset.
 */
export const PLACEHOLDER_KEYS: Readonly<Record<string, string>> = {
  GITHUB_TOKEN: 'chaperone-placeholder',
  GH_TOKEN: 'chaperone-placeholder',
  OPENAI_API_KEY: 'sk-chaperone-placeholder',
  ANTHROPIC_API_KEY: 'sk-ant-chaperone-placeholder',
  STRIPE_API_KEY: 'sk_test_chaperone_placeholder',
  SLACK_BOT_TOKEN: 'xoxb-chaperone-placeholder',
  GEMINI_API_KEY: 'chaperone-placeholder',
  GOOGLE_API_KEY: 'chaperone-placeholder',
  GITHUB_PERSONAL_ACCESS_TOKEN: 'chaperone-placeholder',
}

/** Variable whose existing value is kept, with options appended. The values of all other variables are replaced. */
export const JAVA_OPTIONS_VARIABLE = 'JAVA_TOOL_OPTIONS'

/**
 * Hosts that bypass the proxy. Loopback is the only exception, because requests to any other listed host would bypass
 * the gateway.
 */
const LOOPBACK = 'localhost,127.0.0.1,::1'

/**
 * Returns the variables that make clients trust the gateway. They replace existing values in the client's environment.
 * `NODE_EXTRA_CA_CERTS` adds to a client's roots; the other variables replace the roots.
 */
export function trustVariables(trust: ClientTrust): Readonly<Record<string, string>> {
  return {
    ...Object.fromEntries(BUNDLE_VARIABLES.map((name) => [name, trust.bundleFile])),
    NODE_EXTRA_CA_CERTS: trust.caFile,
    WGETRC: trust.wgetrcFile,
  }
}

/**
 * Returns the variables that make clients use an explicit proxy (`http://HOST:PORT` or `http://NAME:KEY@HOST:PORT`).
 * They replace existing values in the client's environment.
 */
export function proxyVariables(proxyUrl: string): Readonly<Record<string, string>> {
  const values = { HTTPS_PROXY: proxyUrl, HTTP_PROXY: proxyUrl, ALL_PROXY: proxyUrl, NO_PROXY: LOOPBACK }
  // Some clients read only the upper-case name, others only the lower-case name.
  const lowerCase = Object.entries(values).map(([name, value]) => [name.toLowerCase(), value])
  // By default, git sends its first request without the agent's key; the gateway would refuse and record that request.
  const git = new URL(proxyUrl).username === '' ? {} : { GIT_HTTP_PROXY_AUTHMETHOD: 'basic' }
  return { ...values, ...Object.fromEntries(lowerCase), ...git, NODE_USE_ENV_PROXY: '1' }
}

/**
 * Returns the options to append to `JAVA_TOOL_OPTIONS`, where the last of two equal properties wins. Empty if no
 * option is needed. The options never contain the agent's key, because Java prints the variable and its HTTP clients
 * accept a key only from an `Authenticator`.
 */
export function javaOptions({
  trustStore,
  proxyUrl,
}: {
  readonly trustStore?: JavaTrustStore | undefined
  readonly proxyUrl?: string | undefined
}): string {
  return [
    ...(proxyUrl === undefined ? [] : javaProxy(new URL(proxyUrl))),
    ...(trustStore === undefined
      ? []
      : [
          `-Djavax.net.ssl.trustStore=${trustStore.file}`,
          '-Djavax.net.ssl.trustStoreType=PKCS12',
          `-Djavax.net.ssl.trustStorePassword=${trustStore.password}`,
        ]),
  ].join(' ')
}

function javaProxy({ hostname, port }: URL): readonly string[] {
  return [
    `-Dhttps.proxyHost=${hostname} -Dhttps.proxyPort=${port}`,
    `-Dhttp.proxyHost=${hostname} -Dhttp.proxyPort=${port}`,
    '-Dhttp.nonProxyHosts=localhost|127.*|[::1]',
    '-Djdk.http.auth.tunneling.disabledSchemes=',
  ]
}
