import * as z from 'zod'
import { EnforcementLevelSchema } from '../crd/gateway-spec.ts'
import { AgentName, GatewayName, Ok, SetupConnectorSchema } from './fields.ts'

export const Host = z.string().min(1).max(253)
export const Port = z.int().min(1).max(65_535)

/** Body that the wizard sends to create a gateway with an agent and connectors. */
export const SetUpGatewayBody = z.strictObject({
  gateway: z.strictObject({
    name: GatewayName,
    host: Host.optional(),
    port: Port.optional(),
    enforcementLevel: EnforcementLevelSchema.optional(),
  }),
  agent: z.strictObject({ name: AgentName, create: z.boolean().default(false) }).optional(),
  connectors: z.array(SetupConnectorSchema).max(64).default([]),
})
export const SetUpGatewayReply = Ok.extend({
  gateway_id: z.string(),
  /** Key of a new agent, shown once; null if no agent was created. */
  api_key: z.string().nullable(),
  gateway_name: z.string(),
  /** Enrolment token of a new gateway, shown once; null for an existing gateway. */
  gateway_token: z.string().nullable(),
})

export const ProbeQuery = z.strictObject({ url: z.string().min(1).max(2_000).optional() })
export const ProbeReply = z.object({
  ok: z.boolean(),
  status: z.enum(['connected', 'not_ready', 'unreachable', 'timeout', 'no_gateway']),
  connectors: z.array(z.string()),
  error: z.string().optional(),
})

export type EnforcementLevel = z.infer<typeof EnforcementLevelSchema>
export type SetupConnector = z.input<typeof SetupConnectorSchema>
export type AccessRule = SetupConnector['accessRule']
export type SetUpGatewayBody = z.input<typeof SetUpGatewayBody>
export type SetUpGatewayReply = z.infer<typeof SetUpGatewayReply>
export type ProbeReply = z.infer<typeof ProbeReply>
export type ProbeQuery = z.input<typeof ProbeQuery>
