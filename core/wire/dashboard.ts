import * as z from 'zod'
import { ConnectorType, EnforcementLevelSchema } from '../crd/schemas.ts'
import { RecordSchema } from '../record.ts'
import { KillEntry } from './gateway/kill.ts'
import { ObjectOrigin } from './origin.ts'

/** Replies of the reads that the pages need beside the specified ones. All of them are part of the documented API. */

/** What a browser is told to look at again; it never carries the change itself. */
export const ChangeKind = z.enum(['approvals', 'traffic', 'kill', 'config', 'gateways', 'audit'])

/** One state per kind: another text means that something of it changed. */
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
  /** False: nothing was heard of it for 30 s, or it never connected to this control plane. */
  is_live: z.boolean(),
  processes: z.int(),
  applied_version: z.int().nullable(),
  desired_version: z.int().nullable(),
  last_seen_at: z.string().nullable(),
  agents: z.int(),
  /** Scopes that stop at least a part of it. */
  stopped: z.array(z.string()),
  /** Full sentences that its processes report of themselves. */
  warnings: z.array(z.string()),
})

export const OverviewReply = z.object({
  gateways: z.array(GatewayState),
  kill_switches: z.array(KillEntry),
  pending_approvals: z.int(),
  agents: z.object({ active: z.int(), suspended: z.int() }),
  connectors: z.int(),
  /** Of any request, ever; false on a fresh installation. */
  has_traffic: z.boolean(),
  /** About the installation, such as uses of the owner's token; sentences. */
  warnings: z.array(z.string()),
})

const Counts = {
  allow: z.int(),
  hold: z.int(),
  deny: z.int(),
}

export const ActivityReply = z.object({
  from: z.string(),
  to: z.string(),
  /** Length of one bucket. */
  bucket_seconds: z.int(),
  /** Without gaps, oldest first. Latencies in ms; null without a request. */
  buckets: z.array(
    z.object({
      time: z.string(),
      ...Counts,
      /** Let through only because of the enforcement level. */
      would_block: z.int(),
      latency_p50_ms: z.number().nullable(),
      latency_p95_ms: z.number().nullable(),
    }),
  ),
  /** The most frequent refusals, loudest first. */
  denials: z.array(
    z.object({
      agent: z.string().nullable(),
      action_type: z.string().nullable(),
      host: z.string().nullable(),
      reason: z.string().nullable(),
      count: z.int(),
      last_at: z.string(),
    }),
  ),
  /** By number of requests, busiest first. */
  agents: z.array(z.object({ agent: z.string(), ...Counts, last_at: z.string() })),
})

export const ConnectorKind = z.object({
  type: ConnectorType,
  /** Hosts that it owns by itself; empty when they must be configured. */
  domains: z.array(z.string()),
  auth: z.string(),
  actions: z.int(),
})
export const ConnectorKindsReply = z.object({ connectors: z.array(ConnectorKind) })

export const NamedAction = z.object({
  type: z.string(),
  effect: z.enum(['read', 'compute', 'write']),
  risk: z.enum(['low', 'medium', 'high']),
  /** Effect classes of the name; a request may add some. Left out where there are none. */
  effects: z.array(z.string()).optional(),
})
export const ActionsReply = z.object({ type: ConnectorType, actions: z.array(NamedAction) })

export const RecordReply = z.object({ record: RecordSchema })

export type ChangeKind = z.infer<typeof ChangeKind>
export type ChangesReply = z.infer<typeof ChangesReply>
export type GatewayState = z.infer<typeof GatewayState>
export type OverviewReply = z.infer<typeof OverviewReply>
export type ActivityReply = z.infer<typeof ActivityReply>
export type ConnectorKindsReply = z.infer<typeof ConnectorKindsReply>
export type ActionsReply = z.infer<typeof ActionsReply>
export type RecordReply = z.infer<typeof RecordReply>
