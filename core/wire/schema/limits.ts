/** Limits and header names that two components must agree on. Times are in ms unless the name has another unit. */
export const LIMITS = {
  /** Maximum number of proxied requests per agent and minute (spec 8). */
  gatewayRatePerMinute: 120,
  controlPlaneRatePerMinute: 60,
  batchMax: 20,
  /** Maximum number of actions in one proxied request, unless the Gateway sets another limit. */
  actionsPerRequest: 32,
  approvalTimeoutS: 300,
  approvedRetryWindowS: 300,
  maxPendingHoldsPerAgent: 20,
  /**
   * Time after which the list of approvals omits an approval whose last client has disconnected. Clients that retry
   * reconnect within this time.
   */
  askerAbsenceS: 30,
  headerBlockBytes: 16 * 1024,
  decidingBodyBytes: 1024 * 1024,
  heldBodyBytes: 8 * 1024 * 1024,
  /**
   * Time after which the client of a held request receives its first event, if the client accepts events. Later events
   * follow at intervals of `heldEventsEveryMs`.
   */
  heldEventsAfterMs: 10_000,
  heldEventsEveryMs: 15_000,
  /** Maximum size of a model request. It equals the largest size that a provider accepts (Anthropic: 32 MB). */
  modelBodyBytes: 32 * 1024 * 1024,
  /** Maximum time for which a body waits for memory in the budget of buffered bodies. */
  bodyBudgetWaitMs: 10_000,
  /** Body size in bytes above which processing yields to other requests before each stage that may read the body. */
  pacedBodyBytes: 64 * 1024,
  /** Maximum total time for edits of one response. After that, the response passes unchanged. */
  answerEditMs: 250,
  /** Maximum inflated size in bytes, per minute, of the packs in one agent's Git pushes. */
  inflatedBytesPerMinute: 64 * 1024 * 1024,
  connectTimeoutMs: 10_000,
  idleTimeoutMs: 300_000,
  /** Maximum number of authenticated connections to one gateway process: of all agents, and of one agent. */
  maxConnections: 1_000,
  maxConnectionsPerAgent: 400,
  /** Maximum number of connections without an agent's key. Beyond this number, a new connection evicts the oldest. */
  maxUnauthenticatedConnections: 256,
  unauthenticatedTimeoutMs: 30_000,
  maxConcurrentPerAgent: 256,
  maxPermissions: 100_000,
  maxPolicies: 1_000,
  /** Maximum number of built-in policies, in addition to those of the organization. */
  maxBuiltInPolicies: 3,
  metricAgents: 500,
  metricToolNames: 200,
  /** Times from the loss of the control plane's stream to each step of the lease, as defaults for Gateways. */
  leaseHighRiskMs: 30_000,
  leaseWritesMs: 120_000,
  leaseEverythingMs: 600_000,
  beatMs: 5_000,
  recordFlushMs: 100,
  recordBatchMax: 500,
  /** Maximum number of ranges of lost sequence numbers in one batch of records. */
  lostRangesMax: 1_000,
  /**
   * Maximum number of records and lost ranges per second that a replica accepts: from one Gateway, and from all
   * sidecars of one agent.
   */
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
  /**
   * Header with the page secret, which the dashboard sends with every request. The page secret shows that a page of the
   * dashboard sent the request.
   */
  pageSecret: 'X-Service-Page-Secret',
  /** Header that selects the identity of the caller. `certificate` selects the user of the client certificate. */
  caller: 'X-Service-Caller',
} as const
