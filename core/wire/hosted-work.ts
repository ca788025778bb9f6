import * as z from 'zod'

/** Results that a report or an answer lists. */
export const MAX_WORK_RESULTS = 50

/**
 * What became of work that an agent started at a provider. `left`: nothing was sent, because no operation cancels it, or
 * because it is a batch and the Gateway lacks `killSwitch.cancelBatches`.
 */
export const WorkResult = z.object({
  agent: z.string().max(300),
  /** The Connector's name. */
  connector: z.string().max(300),
  /** `response`, `run`, `session`, `scheduled_message`, `batch`, … */
  kind: z.string().max(64),
  id: z.string().max(256),
  outcome: z.enum(['cancelled', 'failed', 'left']),
  /** Status of the provider's answer; null where none came. */
  status: z.int().nullable(),
  /** Why it was not cancelled: a sentence. */
  detail: z.string().max(500).optional(),
  /** Of the kill switch. */
  scope: z.string().max(400),
  at: z.string().max(40),
  /** Of the record. */
  request_id: z.string().max(100).optional(),
})

/** What one gateway process cancels at providers while something is stopped. */
export const HostedWorkReport = z.object({
  /** When the process started. Work that was started through an earlier process is not known to it. */
  since: z.string().max(40),
  /** Stopped work whose cancellation has no result yet. */
  pending: z.int().min(0),
  /** Work in all that was discarded because the process keeps a limited number. */
  dropped: z.int().min(0),
  /** Requests in all that may have started work whose id did not arrive. */
  unidentified: z.int().min(0),
  /** The latest first. */
  results: z.array(WorkResult).max(MAX_WORK_RESULTS),
  /** Results beyond `results`. */
  omitted: z.int().min(0),
})

/** The same in the answer of a kill switch, of all connected gateway processes. */
export const HostedWorkState = z.object({
  pending: z.int(),
  cancelled: z.array(WorkResult),
  not_cancelled: z.array(WorkResult),
  omitted: z.int(),
  /** What is not in the lists, as sentences. */
  note: z.string(),
})

export type WorkResult = z.infer<typeof WorkResult>
export type HostedWorkReport = z.infer<typeof HostedWorkReport>
export type HostedWorkState = z.infer<typeof HostedWorkState>
