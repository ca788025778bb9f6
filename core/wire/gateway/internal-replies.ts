import * as z from 'zod'
import { RecordSchema } from '../../record.ts'
import { KillSwitchReply } from '../kill-switch.ts'
import { Ok } from '../schema/fields.ts'
import { CommandAgent } from './commands.ts'
import { KillEntry } from './kill.ts'
import { GatewaySection } from './sync.ts'

/**
 * Replies of the internal API that the gateway itself creates (spec 4.2). The gateway forwards the replies of the
 * control plane to commands unchanged; `CommandReplies` has their schemas.
 */

/** Body of `GET /health`. */
export const GatewayHealth = z.object({
  status: z.enum(['ok', 'degraded', 'not_ready']),
  uptime_seconds: z.number(),
  /** Number of active agents in the snapshot. */
  agents: z.number(),
  /** Types of the Connectors in the snapshot. */
  connectors: z.array(z.string()),
})

/** Body of `GET /internal/status`. */
export const GatewayStatus = z.object({
  status: GatewayHealth.shape.status,
  name: z.string().nullable(),
  version: z.string(),
  enforcement_level: z.string().nullable(),
  snapshot_version: z.number().nullable(),
  control_plane: z.object({ url: z.string(), connected: z.boolean(), lost_for_seconds: z.number() }),
  /** Requests that the gateway refuses because the lease from its control plane has run out; `ok` means none. */
  lease: z.enum(['ok', 'high_risk', 'writes', 'everything']),
  kill_switches: z.array(KillEntry),
  journal: z.object({
    state: z.string(),
    /** Number of records that the control plane has not stored yet. */
    pending: z.number(),
    bytes: z.number(),
    lost: z.number(),
    deferred_batches: z.number(),
    audit: GatewaySection.shape.audit.nullable(),
    problem: z.string().nullable(),
  }),
  counts: z.object({
    total: z.number(),
    allowed: z.number(),
    held: z.number(),
    denied: z.number(),
    active: z.number(),
    waiting: z.number(),
  }),
  uptime_seconds: z.number(),
})

/** Body of `GET /internal/traffic`. */
export const RecentTraffic = z.object({ traffic: z.array(RecordSchema) })

/** Body of `GET /internal/agents`. `proxy_port` and `proxy_url` are null for an agent without a port of its own. */
export const LocalAgentList = z.object({
  agents: z.array(
    CommandAgent.extend({
      proxy_port: z.number().nullable(),
      /** URL of the agent's own proxy port. The URL contains the key of the port. */
      proxy_url: z.string().nullable(),
      active_connections: z.number(),
    }),
  ),
})

/** Body of `POST /internal/agents/register`. */
export const RegisterAgentReply = Ok.extend({
  /** The agent as the control plane returned it. */
  agent: z.looseObject({ name: z.string() }),
  proxy_port: z.number(),
  /** URL of the agent's own proxy port. The URL contains the key of the port. */
  proxy_url: z.string(),
  /** Certificate of the certificate authority that clients have to trust, in PEM. */
  ca_pem: z.string(),
})

/** Body of `POST /internal/kill-switch`. `forwarded: false`: the control plane has not stored the change. */
export const GatewayKillReply = KillSwitchReply.partial()
  .required({ ok: true, active: true, scope: true })
  .extend({
    effective: z.array(KillEntry),
    forwarded: z.literal(false).optional(),
  })

export type GatewayHealth = z.infer<typeof GatewayHealth>
export type GatewayStatus = z.infer<typeof GatewayStatus>
export type RecentTraffic = z.infer<typeof RecentTraffic>
export type LocalAgentList = z.infer<typeof LocalAgentList>
export type RegisterAgentReply = z.infer<typeof RegisterAgentReply>
export type GatewayKillReply = z.infer<typeof GatewayKillReply>
