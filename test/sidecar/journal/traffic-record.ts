import type { OwnRecord, TrafficRecord } from '../../../core/record.ts'

/** A record of an ordinary request, with what a test wants different. */
export function trafficRecord(changes: Partial<TrafficRecord> = {}): OwnRecord {
  return {
    ...{
      id: 'rec_1',
      process_id: 'proc_1',
      seq: 0,
      time: '2026-01-02T03:04:05.678Z',
      gateway: 'default/local',
    },
    ...{
      agent: 'bot',
      connector: 'codehost',
      action_type: 'codehost.issue.create',
      decision: 'ALLOW' as const,
    },
    ...{ would: null, note: null, reason: null, approval_id: null, act_id: null, method: 'POST' },
    ...{ host: 'api.github.com', path: '/repos/acme/site/issues', status: 201, error_type: null },
    ...{ latency_ms: 12.345, overhead_ms: 0.25, bytes_in: 10, bytes_out: 20, permission: 'perm_1' },
    ...{ policies: ['pol_1@2'], snapshot_version: 3, transport: 'connect-h1' },
    ...changes,
  } as OwnRecord
}
