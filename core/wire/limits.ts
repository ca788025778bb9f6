/** Numbers and header names that two sides must agree on. Times in ms unless the name has another unit. */
export const LIMITS = {
  /** Proxied requests per agent and minute (spec 8). */
  gatewayRatePerMinute: 120,
  controlPlaneRatePerMinute: 60,
  batchMax: 20,
  /** Actions of one proxied request, unless the Gateway sets another limit. */
  actionsPerRequest: 32,
  approvalTimeoutS: 300,
  approvedRetryWindowS: 300,
  maxPendingHoldsPerAgent: 20,
  /** Time after the last client's disconnect until an approval leaves the list; retrying clients return sooner. */
  askerAbsenceS: 30,
  headerBlockBytes: 16 * 1024,
  decidingBodyBytes: 1024 * 1024,
  heldBodyBytes: 8 * 1024 * 1024,
  /** A held request whose client accepts events gets the first event after this time, then one per interval. */
  heldEventsAfterMs: 10_000,
  heldEventsEveryMs: 15_000,
  /** Largest model request that providers accept (Anthropic: 32 MB). */
  modelBodyBytes: 32 * 1024 * 1024,
  /** Maximum wait of a body for the budget of buffered bodies. */
  bodyBudgetWaitMs: 10_000,
  /** Larger bodies yield to other requests before each stage that may read them. */
  pacedBodyBytes: 64 * 1024,
  /** Maximum total time of all edits of one response; after that it passes unchanged. */
  answerEditMs: 250,
  /** Maximum inflated size of the packs in one agent's pushes. */
  inflatedBytesPerMinute: 64 * 1024 * 1024,
  connectTimeoutMs: 10_000,
  idleTimeoutMs: 300_000,
  /** Connections of authenticated clients of one gateway process, and of one agent. */
  maxConnections: 1_000,
  maxConnectionsPerAgent: 400,
  /** Connections without an agent's key; a new one evicts the oldest. */
  maxUnauthenticatedConnections: 256,
  unauthenticatedTimeoutMs: 30_000,
  maxConcurrentPerAgent: 256,
  maxPermissions: 100_000,
  maxPolicies: 1_000,
  /** In addition to those of the organization. */
  maxBuiltInPolicies: 3,
  metricAgents: 500,
  metricToolNames: 200,
  /** Lease steps after the stream is lost (design 8). */
  leaseHighRiskMs: 30_000,
  leaseWritesMs: 120_000,
  leaseEverythingMs: 600_000,
  beatMs: 5_000,
  recordFlushMs: 100,
  recordBatchMax: 500,
  /** Ranges of lost sequence numbers in one batch. */
  lostRangesMax: 1_000,
  /** Records and lost ranges per second that a replica accepts from one Gateway, and from the sidecars of one agent. */
  ingestGatewayPerSecond: 10_000,
  ingestSidecarPerSecond: 1_000,
  permissionShards: 16,
  listDefault: 50,
  listMax: 500,
} as const

export const HEADERS = {
  decision: 'X-Service-Decision',
  requestId: 'X-Request-Id',
  recordId: 'X-Service-Record',
  error: 'X-Service-Error',
  version: 'X-Service-Version',
  /** Sent by the dashboard with every request. */
  pageSecret: 'X-Service-Page-Secret',
  /** `certificate`: the caller is the user of the client certificate. */
  caller: 'X-Service-Caller',
} as const
