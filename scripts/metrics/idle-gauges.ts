import type { Gauges } from '../../sidecar/metrics.ts'

/** Values of the gauges of a gateway that has no traffic and runs outside of a pod. */
export const IDLE_GAUGES: Gauges = {
  activeByAgent: new Map(),
  killEntries: [],
  approvalsPending: 0,
  connectors: 0,
  uptimeSeconds: 0,
  deferredBatches: 0,
  journal: { state: 'ok', bytes: 0, limitBytes: 1_000, pending: 0, lost: 0 },
  hostedWork: { size: 0, dropped: 0, unidentifiedCount: 0 },
  capture: { state: null, isBypassDetected: false },
  configuration: { version: 1, lostForSeconds: 0 },
  certificate: null,
  narrowedTokens: 0,
}
