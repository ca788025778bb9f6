import { expect, test } from 'vitest'
import {
  exposition,
  type MetricsState,
} from '../../../controlplane/features/maintenance/metrics-exposition.ts'
import type { GatewayProcess } from '../../../core/wire/operator/operator.ts'

const PROCESS: GatewayProcess = {
  ...{ gateway: 'team/main', process_id: 'proc_1', version: null, agent: null, covered_version: 7 },
  pod_uid: null,
  ...{ has_kill_state: true, rejected: null, conditions: [], warnings: [] },
}
const STATE: MetricsState = {
  counts: { total: 0, lastHour: 0, decisions24h: { allow: 0, deny: 0, requires_approval: 0 } },
  ...{ invalid: { platform: 0, tenant: 0 }, version: 7, processes: [PROCESS], kills: 0 },
  ...{ certificate: null, refusedBatches: new Map(), channels: [], minted: [], narrowedTokens: new Map() },
  destinations: [],
}
const rowsOf = async (state: Partial<MetricsState>) => (await exposition({ ...STATE, ...state })).split('\n')

test('gateways that are behind, bypassed or without the kill switches are counted', async () => {
  const processes: GatewayProcess[] = [
    PROCESS,
    { ...PROCESS, process_id: 'proc_2', covered_version: 4, conditions: ['BypassDetected'] },
    { ...PROCESS, process_id: 'proc_3', covered_version: 6, has_kill_state: false },
  ]
  const rows = await rowsOf({ processes, kills: 2 })
  for (const row of [
    'svc_configuration_version 7',
    'svc_sync_version_lag 3',
    'svc_gateway_processes_bypassed 1',
    'svc_gateway_processes_kill_pending 1',
    'svc_kill_switches_active 2',
  ])
    expect(rows).toContain(row)
})

test('an installation in order has zeros', async () => {
  const rows = await rowsOf({ processes: [PROCESS, { ...PROCESS, has_kill_state: false }] })
  for (const name of ['sync_version_lag', 'gateway_processes_bypassed', 'gateway_processes_kill_pending'])
    expect(rows).toContain(`svc_${name} 0`)
})

test('the certificate has an age and a remaining time; without TLS there is none', async () => {
  const rows = await rowsOf({ certificate: { ageS: 60, remainingS: 90 } })
  expect(rows).toContain('svc_certificate_age_seconds{certificate="control_plane"} 60')
  expect(rows).toContain('svc_certificate_remaining_seconds{certificate="control_plane"} 90')
  expect((await rowsOf({})).filter((row) => row.startsWith('svc_certificate'))).toEqual([])
})

test('a short-lived credential has its age, its validity and the state of its source, without a secret only the last', async () => {
  const rows = await rowsOf({
    minted: [
      { connector: 'default/one', ageS: 5, remainingS: 55, isFailing: false },
      { connector: 'default/two', ageS: null, remainingS: null, isFailing: true },
    ],
  })
  expect(rows.filter((row) => row.startsWith('svc_minted_credential'))).toEqual([
    'svc_minted_credential_age_seconds{connector="default/one"} 5',
    'svc_minted_credential_remaining_seconds{connector="default/one"} 55',
    'svc_minted_credential_failing{connector="default/one"} 0',
    'svc_minted_credential_failing{connector="default/two"} 1',
  ])
})

test('a channel of notifications is counted once it is configured', async () => {
  const rows = await rowsOf({
    channels: [
      { name: 'email', state: 'failing' },
      { name: 'webhook', state: 'ok' },
      { name: 'slack', state: 'off' },
    ],
  })
  expect(rows.filter((row) => row.startsWith('svc_notification_channel_failing'))).toEqual([
    'svc_notification_channel_failing{channel="email"} 1',
    'svc_notification_channel_failing{channel="webhook"} 0',
  ])
})
