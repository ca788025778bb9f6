import type { TrafficRecord } from '../../core/record.ts'

const LONG_TARGET = `acme/${'very-long-name-'.repeat(12)}`

/** Aggregated row with different requests, and one with equal requests. */
export const ROWS: readonly Partial<TrafficRecord>[] = [
  {
    ...{
      id: 'rec_several',
      action_type: null,
      reason: null,
      host: null,
      path: null,
      method: '*',
      status: null,
    },
    ...{ connector: null, permission: null, policies: [], why: null },
    refusals: {
      ...{ count: 20_000, first: '2026-01-02T10:00:00.000Z', last: '2026-01-02T10:00:59.000Z' },
      ...{ distinct_targets: 10_000, more_targets: true },
      targets: [LONG_TARGET, '', ...Array.from({ length: 30 }, (_, n) => `acme/site${n}`)],
      reasons: { no_permission: 19_000, kill_switch: 1_000 },
      actions: { 'codehost.pr.merge': 12_000, 'mcp.*': 8_000 },
    },
  },
  {
    ...{ id: 'rec_alike', action_type: 'codehost.pr.merge', reason: 'no_permission', status: 403 },
    refusals: {
      ...{ count: 1, first: '2026-01-02T10:00:00.000Z', last: '2026-01-02T10:00:00.000Z' },
      ...{ distinct_targets: 1, more_targets: false, targets: ['acme/site'] },
      reasons: { no_permission: 1 },
    },
  },
]
