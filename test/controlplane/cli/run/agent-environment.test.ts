import { expect, it } from 'vitest'
import { agentEnvironment } from '../../../../controlplane/cli/run/agent-environment.ts'

const input = {
  proxyUrl: 'http://127.0.0.1:41001',
  caFile: '/d/ca.crt',
  caBundleFile: '/d/ca-bundle.crt',
  wgetrcFile: '/d/wgetrc',
}

it('sets the proxy in both cases, because wget reads only one and others only the other', () => {
  const env = agentEnvironment({ ...input, env: {} })
  for (const name of ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'])
    expect(env[name]).toBe('http://127.0.0.1:41001')
})

it('sets no proxy where connections are redirected, removes that of the caller, and sets the trust of every client', () => {
  const env = agentEnvironment({
    ...{ ...input, proxyUrl: null, javaStoreFile: '/d/truststore.p12' },
    env: { HTTPS_PROXY: 'http://corp:3128', no_proxy: '*', HOME: '/h' },
  })
  expect(Object.keys(env).filter((name) => /proxy/i.test(name))).toEqual([])
  expect(env).toMatchObject({
    HOME: '/h',
    SSL_CERT_FILE: '/d/ca-bundle.crt',
    NODE_EXTRA_CA_CERTS: '/d/ca.crt',
  })
  expect(env['JAVA_TOOL_OPTIONS']).toContain('trustStore=/d/truststore.p12')
  expect(env['JAVA_TOOL_OPTIONS']).not.toContain('proxy')
})

it('exempts only loopback, and drops the exemptions of the caller', () => {
  const env = agentEnvironment({ ...input, env: { NO_PROXY: '*', no_proxy: 'api.github.com' } })
  expect(env['NO_PROXY']).toBe('localhost,127.0.0.1,::1')
  expect(env['no_proxy']).toBe('localhost,127.0.0.1,::1')
})

it('sets variables that replace the roots to the bundle, and the one that adds roots to the CA of the gateway', () => {
  const env = agentEnvironment({ ...input, env: {} })
  const bundles = [
    'SSL_CERT_FILE',
    'REQUESTS_CA_BUNDLE',
    'CURL_CA_BUNDLE',
    'GIT_SSL_CAINFO',
    'AWS_CA_BUNDLE',
    'PIP_CERT',
    'DENO_CERT',
    'CARGO_HTTP_CAINFO',
    'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
  ]
  for (const name of bundles) expect(env[name], name).toBe('/d/ca-bundle.crt')
  expect(env['NODE_EXTRA_CA_CERTS']).toBe('/d/ca.crt')
  expect(env['NODE_USE_ENV_PROXY']).toBe('1')
})

it('gives SDKs placeholder keys only where the caller has none', () => {
  const own = { OPENAI_API_KEY: 'mine', GEMINI_API_KEY: 'mine', STRIPE_API_KEY: '', GOOGLE_API_KEY: '' }
  const env = agentEnvironment({ ...input, env: own })
  expect([env['OPENAI_API_KEY'], env['GEMINI_API_KEY']]).toEqual(['mine', 'mine'])
  expect([env['STRIPE_API_KEY'], env['GOOGLE_API_KEY']]).toEqual(
    Array(2).fill(expect.stringMatching(/placeholder/)),
  )
  const others = [
    'GITHUB_TOKEN',
    'GH_TOKEN',
    'GITHUB_PERSONAL_ACCESS_TOKEN',
    'ANTHROPIC_API_KEY',
    'SLACK_BOT_TOKEN',
  ]
  for (const name of others) expect(env[name], name).toMatch(/placeholder/)
  expect(agentEnvironment({ ...input, env: {} })['GEMINI_API_KEY']).toMatch(/placeholder/)
})

it('keeps the Java options of the caller and adds the proxy', () => {
  const env = agentEnvironment({ ...input, env: { JAVA_TOOL_OPTIONS: '-Xmx1g' } })
  expect(env['JAVA_TOOL_OPTIONS']).toMatch(/^-Xmx1g .*-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=41001/)
  expect(env['JAVA_TOOL_OPTIONS']).toContain('-Djdk.http.auth.tunneling.disabledSchemes=')
})

it.each(['CHAPERONE_TOKEN', 'MASTER_KEY', 'MASTER_KEY_FILE', 'MAINTENANCE_SECRET', 'DATABASE_URL'])(
  'keeps %s from the command, captured or not',
  (name) => {
    for (const proxyUrl of [input.proxyUrl, null]) {
      const env = agentEnvironment({ ...input, proxyUrl, env: { [name]: 'secret-of-ours', HOME: '/h' } })
      expect([JSON.stringify(env).includes('secret-of-ours'), env['HOME']]).toEqual([false, '/h'])
    }
  },
)

it('disables telemetry of agent programs, unless the user has set the variable, even to an empty value', () => {
  const switches = [
    ...['AIDER_CHECK_UPDATE', 'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC', 'CREWAI_DISABLE_TELEMETRY'],
    ...['DISABLE_TELEMETRY', 'DO_NOT_TRACK', 'LITELLM_LOCAL_MODEL_COST_MAP', 'OPENAI_AGENTS_DISABLE_TRACING'],
    ...['OPENCODE_DISABLE_MODELS_FETCH', 'OTEL_SDK_DISABLED', 'CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK'],
  ]
  const env = agentEnvironment({ ...input, env: {} })
  for (const name of switches) expect(env[name], name).toMatch(/^(1|true|True|false)$/)
  for (const name of switches)
    for (const value of ['', '0', 'own']) {
      const kept = agentEnvironment({ ...input, env: { [name]: value } })
      expect(kept[name]).toBe(value)
    }
  const captured = agentEnvironment({ ...input, proxyUrl: null, env: {} })
  for (const name of switches) expect(captured[name]).toBe(env[name])
})

it('keeps OpenTelemetry enabled where the user has configured it', () => {
  const own = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
  const env = agentEnvironment({ ...input, env: own })
  expect(env['OTEL_SDK_DISABLED']).toBeUndefined()
  expect(env['CREWAI_DISABLE_TELEMETRY']).toBe('true')
})
