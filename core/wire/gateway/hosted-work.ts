import * as z from 'zod'
import { openEnum } from '../schema/open-enum.ts'

/** Maximum number of results in a report or a reply. */
export const MAX_WORK_RESULTS = 50

/**
 * Result of cancelling work that an agent started at a provider. `left`: the gateway did not send a cancellation,
 * because no operation cancels the work, or because the work is a batch and the Gateway does not set
 * `killSwitch.cancelBatches`.
 */
export const WorkResult = z.object({
  agent: z.string().max(300),
  /** Name of the Connector. */
  connector: z.string().max(300),
  /** Kind of the work, such as `response`, `run`, `session`, `scheduled_message` or `batch`. */
  kind: z.string().max(64),
  id: z.string().max(256),
  outcome: openEnum(['cancelled', 'failed', 'left']),
  /** HTTP status of the provider's response; null if there was none. */
  status: z.int().nullable(),
  /** Reason, as a sentence, why the work was not cancelled. */
  detail: z.string().max(500).optional(),
  /** Scope of the kill switch that cancels the work. */
  scope: z.string().max(400),
  at: z.string().max(40),
  /** Id of the request that started the work, as in its record. */
  request_id: z.string().max(100).optional(),
})

/** Report of one gateway process about the work that it cancels at providers while a kill switch is active. */
export const HostedWorkReport = z.object({
  /** Start time of the process. The report excludes work that an earlier process started. */
  since: z.string().max(40),
  /** Number of work items that a kill switch covers and whose cancellation has no result yet. */
  pending: z.int().min(0),
  /** Total number of work items that the process discarded because of its limits. */
  dropped: z.int().min(0),
  /** Total number of requests that may have started work although the response contained no id. */
  unidentified: z.int().min(0),
  /** Latest results, newest first. */
  results: z.array(WorkResult).max(MAX_WORK_RESULTS),
  /** Number of results that `results` does not contain, because the list has a maximum length. */
  omitted: z.int().min(0),
})

/** Combined reports of all connected gateway processes, in the response to a kill switch. */
export const HostedWorkState = z.object({
  pending: z.int(),
  cancelled: z.array(WorkResult),
  not_cancelled: z.array(WorkResult),
  omitted: z.int(),
  /** Sentences about work that the report does not list. */
  note: z.string(),
})

export type WorkResult = z.infer<typeof WorkResult>
export type HostedWorkReport = z.infer<typeof HostedWorkReport>
export type HostedWorkState = z.infer<typeof HostedWorkState>
