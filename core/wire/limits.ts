/** Every number and header name that two sides must agree on. Times in ms unless the name says otherwise. */
export const LIMITS = {
  /** Proxied requests per agent and minute (spec 8). */
  gatewayRatePerMinute: 120,
  controlPlaneRatePerMinute: 60,
  batchMax: 20,
  /** Of one proxied request, unless the Gateway says otherwise. */
  actionsPerRequest: 32,
  approvalTimeoutS: 300,
  approvedRetryWindowS: 300,
  maxPendingHoldsPerAgent: 20,
  /** A question whose last asker left so long ago leaves the list; clients that try again are back sooner. */
  askerAbsenceS: 30,
  headerBlockBytes: 16 * 1024,
  decidingBodyBytes: 1024 * 1024,
  heldBodyBytes: 8 * 1024 * 1024,
  /** A held request whose client takes events gets the first after this time, then one at each interval. */
  heldEventsAfterMs: 10_000,
  heldEventsEveryMs: 15_000,
  /** What providers accept as one model request (Anthropic: 32 MB). */
  modelBodyBytes: 32 * 1024 * 1024,
  /** How long a body waits for room in the budget of kept bodies. */
  bodyBudgetWaitMs: 10_000,
  /** Bodies above this give way to other requests before each stage that may read them. */
  pacedBodyBytes: 64 * 1024,
  /** Time that all edits of one answer take; an answer beyond it passes as it is. */
  answerEditMs: 250,
  /** What the packs of one agent's pushes may become when inflated. */
  inflatedBytesPerMinute: 64 * 1024 * 1024,
  connectTimeoutMs: 10_000,
  idleTimeoutMs: 300_000,
  /** Of authenticated clients of one gateway process, and of one agent. */
  maxConnections: 1_000,
  maxConnectionsPerAgent: 400,
  /** Without an agent's key yet; the oldest leaves when another one arrives. */
  maxUnauthenticatedConnections: 256,
  unauthenticatedTimeoutMs: 30_000,
  maxConcurrentPerAgent: 256,
  maxPermissions: 100_000,
  maxPolicies: 1_000,
  /** Beside those of the organisation. */
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
  /** Records and lost ranges a second that a replica takes from one Gateway, and from the sidecars of one agent. */
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
  /** Sent by a page of the dashboard with every request. */
  pageSecret: 'X-Service-Page-Secret',
  /** `certificate`: the caller is the user of the client certificate. */
  caller: 'X-Service-Caller',
} as const
