import { describe, expect, test } from 'vitest'
import { configurationOf, stateOf } from '../../controlplane/dashboard/pages/overview/gateway-state.ts'
import type { GatewayState } from '../../core/wire/overview.ts'

const GATEWAY: GatewayState = {
  id: 'gw_1',
  name: 'default/local',
  host: '127.0.0.1',
  port: 9443,
  level: 'full_enforce',
  applied_version: 7,
  desired_version: 7,
  last_seen_at: '2026-01-01T00:00:00.000Z',
  is_live: true,
  processes: 1,
  agents: 1,
  stopped: [],
  warnings: [],
  source: 'api',
  managed_by: null,
  origin: { from: 'built_in', file: null, commit: null, deployed_by: null },
}

describe('state of a gateway', () => {
  test.each([
    [{}, 'Enforcing', 'good'],
    [{ desired_version: 8 }, 'Applying new configuration', 'wait'],
    [{ is_live: false }, 'Stale', 'wait'],
    [{ is_live: false, last_seen_at: null }, 'Not connected', 'wait'],
    [{ stopped: ['all'] }, 'Kill switch active', 'bad'],
    [{ stopped: ['gateway:default/local'], is_live: false }, 'Kill switch active', 'bad'],
    [{ stopped: ['agent:dev'] }, 'Kill switch active for a part', 'bad'],
  ] as const)('%j: %s', (change, text, tone) => {
    expect(
      stateOf({ ...GATEWAY, ...change, stopped: 'stopped' in change ? [...change.stopped] : [] }),
    ).toEqual({ text, tone })
  })

  test.each([
    [{}, 'version 7 (latest)'],
    [{ desired_version: 9 }, 'version 7 of 9'],
    [{ applied_version: null }, 'unknown'],
  ] as const)('its rules, %j: %s', (change, text) => {
    expect(configurationOf({ ...GATEWAY, ...change })).toBe(text)
  })
})
