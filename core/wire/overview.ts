import * as z from 'zod'
import { EnforcementLevelSchema } from '../crd/gateway/gateway-fields.ts'
import { KillEntry } from './gateway/kill.ts'
import { ObjectOrigin } from './operator/origin.ts'
import { Moment, Ok, type QueryInput } from './schema/fields.ts'
import { DecisionView } from './v1.ts'

/**
 * Kinds of changes about which the dashboard is notified. An event contains only the kind; the client then reloads the
 * data.
 */
export const ChangeKind = z.enum(['approvals', 'traffic', 'kill', 'config', 'gateways', 'audit'])

/**
 * Opaque version of the data of each kind. A client reloads the data if the version differs from that of the previous
 * reply.
 */
export const ChangesReply = z.object({ versions: z.record(ChangeKind, z.string()) })

export const GatewayState = z.object({
  id: z.string(),
  name: z.string(),
  host: z.string(),
  port: z.int(),
  level: EnforcementLevelSchema,
  source: z.string(),
  managed_by: z.string().nullable(),
  origin: ObjectOrigin,
  /** False if no process of the gateway has reported for 30 s. */
  is_live: z.boolean(),
  processes: z.int(),
  applied_version: z.int().nullable(),
  desired_version: z.int().nullable(),
  last_seen_at: z.string().nullable(),
  agents: z.int(),
  /** Scopes of the active kill switches that cover the gateway or a part of it. */
  stopped: z.array(z.string()),
  /** Warnings that the gateway's processes report, as full sentences. */
  warnings: z.array(z.string()),
})

export const OverviewReply = z.object({
  gateways: z.array(GatewayState),
  kill_switches: z.array(KillEntry),
  pending_approvals: z.int(),
  agents: z.object({ active: z.int(), suspended: z.int() }),
  connectors: z.int(),
  /** True after the first request through any gateway; false on a new installation. */
  has_traffic: z.boolean(),
  /** Warnings about the installation, as full sentences, for example about uses of the owner token. */
  warnings: z.array(z.string()),
})

const Counts = {
  allow: z.int(),
  hold: z.int(),
  deny: z.int(),
}

export const ActivityQuery = z.strictObject({
  /** Length of the period in seconds. The maximum is seven days, the default retention of the traffic log. */
  seconds: z.coerce
    .number()
    .pipe(
      z
        .int()
        .min(60)
        .max(7 * 86_400),
    )
    .default(3_600),
  to: Moment.optional(),
})

export const ActivityReply = z.object({
  from: z.string(),
  to: z.string(),
  /** Length of one bucket in seconds. */
  bucket_seconds: z.int(),
  /** Buckets without gaps, oldest first. Latencies are in ms, accurate to 2 percent, and null in a bucket without requests. */
  buckets: z.array(
    z.object({
      time: z.string(),
      ...Counts,
      /** Number of requests that were allowed only because of the enforcement level. */
      would_block: z.int(),
      latency_p50_ms: z.number().nullable(),
      latency_p95_ms: z.number().nullable(),
      latency_p99_ms: z.number().nullable(),
    }),
  ),
  /**
   * Percentiles of the latency over the whole period, accurate to 2 percent, without requests that waited for an
   * approval. Null if there are no requests.
   */
  latency: z.object({
    p50_ms: z.number().nullable(),
    p95_ms: z.number().nullable(),
    p99_ms: z.number().nullable(),
  }),
  /** Most frequent denials of each agent. The agent with the most denials is the first. */
  denials: z.array(
    z.object({
      agent: z.string().nullable(),
      action_type: z.string().nullable(),
      host: z.string().nullable(),
      reason: z.string().nullable(),
      count: z.int(),
      last_at: z.string(),
      /** Number of all denials of the agent in the period, including those that the list omits. */
      agent_count: z.int(),
    }),
  ),
  /** Agents in descending order of their number of requests. */
  agents: z.array(z.object({ agent: z.string(), ...Counts, last_at: z.string() })),
})

/**
 * Selects the demo request. `scenario` is 0 for a safe, 1 for a risky and 2 for a destructive request; if absent, the
 * control plane selects one at random.
 */
export const DemoBody = z.strictObject({
  scenario: z.literal([0, 1, 2], { error: 'must be 0, 1 or 2' }).optional(),
})
export const DemoReply = Ok.extend({
  scenario: z.string(),
  action_request_id: z.string(),
  decision: DecisionView,
})

export type ChangeKind = z.infer<typeof ChangeKind>
export type ChangesReply = z.infer<typeof ChangesReply>
export type GatewayState = z.infer<typeof GatewayState>
export type OverviewReply = z.infer<typeof OverviewReply>
export type ActivityReply = z.infer<typeof ActivityReply>
export type DemoBody = z.input<typeof DemoBody>
export type DemoReply = z.infer<typeof DemoReply>
export type ActivityQuery = QueryInput<typeof ActivityQuery>
