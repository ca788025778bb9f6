import * as z from 'zod'
import { RecordSchema } from '../record.ts'
import { ApprovalCard } from './gateway/internal.ts'
import { AuditFilterFields, Id, Limit, type QueryInput } from './schema/fields.ts'

/** Event types of the audit log: those of spec 6.1, and the additional ones that docs/api.md lists. */
export const AuditEventType = z.enum([
  'action.requested',
  'action.allowed',
  'action.denied',
  'action.pending_approval',
  'action.executed',
  'action.execution_failed',
  'action.cancelled',
  'approval.responded',
  'approval.withdrawn',
  'approval.refused',
  'approval.expired',
  'grant.created',
  'grant.used',
  'grant.revoked',
  'kill_switch.activated',
  'kill_switch.deactivated',
  'agent.registered',
  'agent.updated',
  'agent.suspended',
  'agent.activated',
  'agent.revoked',
  'policy.created',
  'policy.updated',
  'policy.deleted',
  'policy.enabled',
  'policy.disabled',
  'gateway.created',
  'gateway.updated',
  'user.login',
  'user.login_failed',
  'user.logout',
  'user.registered',
  'user.password_changed',
  'user.password_reset',
  'user.key_created',
  'user.key_revoked',
  'user.role_changed',
  'user.suspended',
  'user.activated',
  'user.access_ended',
  'push_subscription.created',
  'push_subscription.deleted',
  'config.exported',
  'config.imported',
  'settings.updated',
  'audit.purged',
  'owner_token.used',
])

const { type: _synonym, ...AuditFilter } = AuditFilterFields

export const AuditQuery = z.strictObject({
  ...AuditFilter,
  limit: Limit,
  cursor: z.string().min(1).max(20).optional(),
})
/** Query of an audit export. `type` and `event_type` are synonyms, because spec 4.4 has both spellings. */
export const AuditExportQuery = z
  .strictObject(AuditFilterFields)
  .refine(({ type, event_type }) => type === undefined || event_type === undefined || type === event_type, {
    path: ['type'],
    message: 'differs from event_type; send one of them',
  })
export const EvidenceParams = z.object({ action_request_id: Id })

export const AuditEntry = z.object({
  id: z.string(),
  /** Event type: one of `AuditEventType`, or a type that a newer version added. */
  event_type: z.string(),
  agent_id: z.string().nullable(),
  user_id: z.string().nullable(),
  action_request_id: z.string().nullable(),
  action_type: z.string().nullable(),
  details: z.record(z.string(), z.unknown()),
  created_at: z.string(),
})

export const AuditReply = z.object({
  /** Events, the latest first. */
  events: z.array(AuditEntry),
  next_cursor: z.string().nullable(),
})

export const EvidenceReply = z.object({
  action_request_id: z.string(),
  /** Events, the earliest first. */
  events: z.array(AuditEntry),
  approvals: z.array(ApprovalCard),
  /** Records of the action's requests that the traffic log still contains, the earliest first. */
  requests: z.array(RecordSchema),
})

export type AuditEntry = z.infer<typeof AuditEntry>
export type AuditReply = z.infer<typeof AuditReply>
export type EvidenceReply = z.infer<typeof EvidenceReply>
export type AuditEventType = z.infer<typeof AuditEventType>
export type EvidenceParams = z.infer<typeof EvidenceParams>
export type AuditQuery = QueryInput<typeof AuditQuery>
