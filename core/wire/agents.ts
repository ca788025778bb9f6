import * as z from 'zod'
import { Instance } from './gateway/instance.ts'
import { ManagedFields } from './operator/origin.ts'
import {
  AgentName,
  Capabilities,
  Environment,
  GatewayRef,
  Id,
  Metadata,
  NewAgentName,
  Ok,
  Runtime,
} from './schema/fields.ts'

export const AgentView = z.object({
  agent_id: z.string(),
  name: z.string(),
  runtime: z.string(),
  environment: z.string(),
  status: z.enum(['active', 'suspended', 'revoked']),
  capabilities: z.array(z.string()),
  metadata: z.record(z.string(), z.unknown()),
  api_key_prefix: z.string().nullable(),
  /** Name of the agent's gateway; null if it has none. */
  gateway: z.string().nullable(),
  last_seen_at: z.string().nullable(),
  /**
   * Number of running pods of the agent, and the instances of at most 20 of these pods: those with a SandboxClaim
   * first, then the newest. Absent if the agent has no running pod.
   */
  running: z.object({ pods: z.number().int(), instances: z.array(Instance).max(20) }).optional(),
  ...ManagedFields,
  created_at: z.string(),
})
export const AgentList = z.object({ agents: z.array(AgentView) })
export const CreateAgentBody = z.strictObject({
  name: NewAgentName,
  runtime: Runtime,
  environment: Environment,
  capabilities: Capabilities.optional(),
  metadata: Metadata.optional(),
  gateway: GatewayRef.optional(),
})
export const CreateAgentReply = Ok.extend({
  agent_id: z.string(),
  api_key: z.string(),
  api_key_prefix: z.string(),
})
export const PatchAgentBody = z
  .strictObject({
    agent_id: Id,
    action: z.enum(['suspend', 'activate', 'revoke', 'rotate_key']).optional(),
    /** New name. The name must match `NewAgentName`, unless it is the present name of the agent. */
    name: AgentName.optional(),
    runtime: Runtime.optional(),
    environment: Environment.optional(),
    capabilities: Capabilities.optional(),
    metadata: Metadata.optional(),
    gateway: GatewayRef.optional(),
  })
  .refine((body) => Object.keys(body).length > 1, {
    path: ['action'],
    message: 'requires an action or a field to change',
  })
  .refine((body) => body.action === undefined || Object.keys(body).length === 2, {
    path: ['action'],
    message:
      'cannot be combined with other fields; send the action and the other fields in separate requests',
  })
export const PatchAgentReply = Ok.extend({
  agent: AgentView,
  api_key: z.string().optional(),
  api_key_prefix: z.string().optional(),
})

export type AgentView = z.infer<typeof AgentView>
export type AgentList = z.infer<typeof AgentList>
export type CreateAgentBody = z.input<typeof CreateAgentBody>
export type CreateAgentReply = z.infer<typeof CreateAgentReply>
export type PatchAgentBody = z.input<typeof PatchAgentBody>
export type PatchAgentReply = z.infer<typeof PatchAgentReply>
