import * as z from 'zod'

/** Maximum number of results in a report or a reply. */
export const MAX_WORK_RESULTS = 50

/**
 * Result of cancelling work that an agent started at a provider. `left`: the gateway sent nothing, because no operation
 * cancels the work, or because it is a batch and the Gateway lacks `killSwitch.cancelBatches`.
 */
export const WorkResult = z.object({
  agent: z.string().max(300),
  /** Name of the Connector. */
  connector: z.string().max(300),
  /** Kind of the work: `response`, `run`, `session`, `scheduled_message`, `batch`, … */
  kind: z.string().max(64),
  id: z.string().max(256),
  outcome: z.enum(['cancelled', 'failed', 'left']),
  /** HTTP status of the provider's response; null without a response. */
  status: z.int().nullable(),
  /** Reason, as a sentence, why the work was not cancelled. */
  detail: z.string().max(500).optional(),
  /** Scope of the kill switch that cancels the work. */
  scope: z.string().max(400),
  at: z.string().max(40),
  /** Id in the record of the request that started the work. */
  request_id: z.string().max(100).optional(),
})

/** Report of one gateway process on work that it cancels at providers while a kill switch is active. */
export const HostedWorkReport = z.object({
  /** Start time of the process. The report does not include work that an earlier process started. */
  since: z.string().max(40),
  /** Number of works under a kill switch whose cancellation has no result yet. */
  pending: z.int().min(0),
  /** Total number of works that the process discarded because of its limits. */
  dropped: z.int().min(0),
  /** Total number of requests that may have started work whose id the response did not contain. */
  unidentified: z.int().min(0),
  /** Latest results, newest first. */
  results: z.array(WorkResult).max(MAX_WORK_RESULTS),
  /** Number of results that `results` omits. */
  omitted: z.int().min(0),
})

/** Reports of all connected gateway processes together, in the reply to a kill switch. */
export const HostedWorkState = z.object({
  pending: z.int(),
  cancelled: z.array(WorkResult),
  not_cancelled: z.array(WorkResult),
  omitted: z.int(),
  /** Sentences about work that the lists do not contain. */
  note: z.string(),
})

export type WorkResult = z.infer<typeof WorkResult>
export type HostedWorkReport = z.infer<typeof HostedWorkReport>
export type HostedWorkState = z.infer<typeof HostedWorkState>
