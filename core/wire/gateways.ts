import * as z from 'zod'
import { EnforcementLevelSchema } from '../crd/gateway/gateway-fields.ts'
import { ManagedFields } from './operator/origin.ts'
import {
  AgentName,
  Environment,
  GatewayName,
  Id,
  NewAgentName,
  Ok,
  Runtime,
  SetupConnectorSchema,
} from './schema/fields.ts'
import { PLAIN_NAME_RULE } from './schema/plain-name.ts'

const Host = z.string().min(1).max(253)
const Port = z.int().min(1).max(65_535)

/** State of a gateway's running processes. */
const GatewayLive = z.object({
  processes: z.int(),
  /** Highest configuration version that all processes have applied; null if a process has applied none. */
  applied_version: z.int().nullable(),
  desired_version: z.int().nullable(),
  /** Time of the latest report of any process, ISO 8601. */
  last_seen_at: z.string(),
  agents: z.int(),
  kill_switch: z.boolean(),
  /** Seconds since the oldest running process started. */
  uptime_seconds: z.number(),
  /** Distinct product versions of the processes, without processes that report no version. */
  versions: z.array(z.string()),
  /** Warnings that the processes report, and one for each kind of version skew; without duplicates. */
  warnings: z.array(z.string()),
})

export const GatewayView = z.object({
  id: z.string(),
  name: z.string(),
  host: z.string(),
  port: z.int(),
  /** Status of the gateway. `degraded`: a running process does not have the newest configuration yet. */
  status: z.enum(['stopped', 'running', 'degraded']),
  /** Enforcement level in force. It may be stricter than the level in the spec, if the platform team sets a minimum. */
  enforcementLevel: EnforcementLevelSchema,
  /** State of the running processes; null if no process is connected. */
  live: GatewayLive.nullable(),
  ...ManagedFields,
  created_at: z.string(),
})
export const GatewayList = z.object({ gateways: z.array(GatewayView) })

export const PatchGatewayBody = z
  .strictObject({
    gateway_id: Id,
    name: GatewayName.optional(),
    host: Host.optional(),
    port: Port.optional(),
    enforcementLevel: EnforcementLevelSchema.optional(),
    reason: z.string().max(1_000).optional(),
  })
  .refine(
    ({ name, host, port, enforcementLevel }) => (name ?? host ?? port ?? enforcementLevel) !== undefined,
    {
      path: ['enforcementLevel'],
      message: 'must have at least one field to change: enforcementLevel, name, host or port',
    },
  )
export const PatchGatewayReply = Ok.extend({ gateway: GatewayView })

/** Body of the quick setup, which creates an agent and its connectors. */
export const QuickSetupBody = z.strictObject({
  agent: z.strictObject({ name: NewAgentName, runtime: Runtime, environment: Environment }),
  connectors: z.array(SetupConnectorSchema).max(64),
  gateway: z.strictObject({ name: GatewayName }).optional(),
})
export const QuickSetupReply = Ok.extend({
  agent_id: z.string(),
  /** Key of the new agent. The API returns the key only once. */
  api_key: z.string(),
  gateway_id: z.string(),
  connectors: z.array(z.object({ id: z.string(), type: z.string(), domains: z.array(z.string()) })),
  permissions_created: z.number(),
})

/** Body of the wizard, which creates a gateway with an agent and connectors. */
export const SetUpGatewayBody = z.strictObject({
  gateway: z.strictObject({
    name: GatewayName,
    host: Host.optional(),
    port: Port.optional(),
    enforcementLevel: EnforcementLevelSchema.optional(),
  }),
  agent: z
    .strictObject({ name: AgentName, create: z.boolean().default(false) })
    .refine(({ name, create }) => !create || NewAgentName.safeParse(name).success, {
      path: ['name'],
      message: PLAIN_NAME_RULE,
    })
    .optional(),
  connectors: z.array(SetupConnectorSchema).max(64).default([]),
})
export const SetUpGatewayReply = Ok.extend({
  gateway_id: z.string(),
  /** Key of a new agent, returned only once; null if no agent was created. */
  api_key: z.string().nullable(),
  gateway_name: z.string(),
  /** Enrolment token of a new gateway, returned only once; null for an existing gateway. */
  gateway_token: z.string().nullable(),
})

export const ProbeQuery = z.strictObject({ url: z.string().min(1).max(2_000).optional() })
export const ProbeReply = z.object({
  ok: z.boolean(),
  status: z.enum(['connected', 'not_ready', 'unreachable', 'timeout', 'no_gateway']),
  connectors: z.array(z.string()),
  error: z.string().optional(),
})

export type GatewayLive = z.infer<typeof GatewayLive>
export type GatewayView = z.infer<typeof GatewayView>
export type GatewayList = z.infer<typeof GatewayList>
export type EnforcementLevel = z.infer<typeof EnforcementLevelSchema>
export type SetupConnector = z.input<typeof SetupConnectorSchema>
export type AccessRule = SetupConnector['accessRule']
export type SetUpGatewayBody = z.input<typeof SetUpGatewayBody>
export type SetUpGatewayReply = z.infer<typeof SetUpGatewayReply>
export type ProbeReply = z.infer<typeof ProbeReply>
export type ProbeQuery = z.input<typeof ProbeQuery>
