import { describe, expect, test } from 'vitest'
import { readConfig } from '../../../sidecar/config.ts'

const GOOD = { CONTROL_PLANE_URL: 'http://127.0.0.1:3000/', GATEWAY_TOKEN_FILE: '/t', DATA_DIR: '/data' }

describe('the configuration', () => {
  test('has defaults for everything but the control plane, its token and the data folder', () => {
    expect(readConfig(GOOD)).toEqual({
      ...{ host: '127.0.0.1', port: 9443, controlPlaneUrl: 'http://127.0.0.1:3000', gatewayTokenFile: '/t' },
      ...{
        internalTokenFile: '/data/gateway.token',
        dataDir: '/data',
        journalMaxBytes: 268_435_456,
        bodyBudgetBytes: null,
        eventLoopBlockedMs: 200,
      },
      ca: { certFile: '/data/ca.crt', keyFile: '/data/ca.key', bundleFile: '/data/ca-bundle.crt' },
      connections: { maxConnections: null, maxConnectionsPerAgent: null, maxTunnelsPerAgent: null },
      logLevel: 'info',
      wholeRefusals: 60,
      captureSocket: null,
      pod: null,
      installationKeyFile: null,
    })
  })

  test.each([
    ['DATA_DIR', ''],
    ['GATEWAY_TOKEN_FILE', undefined],
    ['CONTROL_PLANE_URL', 'localhost:3000'],
    ['CONTROL_PLANE_URL', undefined],
    ['PORT', '70000'],
    ['PORT', '-1'],
    ['JOURNAL_MAX_BYTES', '1e9'],
    ['JOURNAL_MAX_BYTES', '10'],
    ['BODY_BUDGET_BYTES', '64Mi'],
    ['BODY_BUDGET_BYTES', '1000'],
    ['EVENT_LOOP_BLOCKED_MS', '5'],
    ['EVENT_LOOP_BLOCKED_MS', 'soon'],
    ['WHOLE_REFUSALS_PER_MINUTE', '0'],
    ['WHOLE_REFUSALS_PER_MINUTE', '1e9'],
    ['LOG_LEVEL', 'loud'],
    ['MAX_CONNECTIONS', '0'],
    ['MAX_CONNECTIONS_PER_AGENT', '-5'],
    ['MAX_TUNNELS_PER_AGENT', 'many'],
  ])('names %s when it is %o, and what to set', (name, value) => {
    expect(() => readConfig({ ...GOOD, [name]: value })).toThrow(new RegExp(`^${name} .*set it to`))
  })

  test.each([
    'http://198.51.100.7:3000',
    'http://control-plane.example',
    'http://localhost.example',
    'http://[fe80::1]',
  ])('refuses %s: tokens and credentials would cross the network in clear', (url) => {
    expect(() => readConfig({ ...GOOD, CONTROL_PLANE_URL: url })).toThrow(
      /^CONTROL_PLANE_URL .*set it to an https address/,
    )
  })

  test.each(['http://127.0.0.1:3000', 'http://localhost:3000', 'http://[::1]:3000', 'https://cp.example'])(
    'accepts %s',
    (url) => {
      expect(readConfig({ ...GOOD, CONTROL_PLANE_URL: url }).controlPlaneUrl).toBe(url)
    },
  )
})
