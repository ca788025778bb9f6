import type { AuditEventType } from '../../../core/wire/audit.ts'
import { type Tone, ToneBadge } from '../components/layout/tone-badge.tsx'

const LABELS: Readonly<Record<AuditEventType, readonly [title: string, tone: Tone]>> = {
  'action.requested': ['Action requested', 'quiet'],
  'action.allowed': ['Action allowed', 'good'],
  'action.denied': ['Action denied', 'bad'],
  'action.pending_approval': ['Approval pending', 'wait'],
  'action.executed': ['Action executed', 'good'],
  'action.execution_failed': ['Execution failed', 'bad'],
  'action.cancelled': ['Action cancelled', 'quiet'],
  'approval.responded': ['Approval answered', 'info'],
  'approval.withdrawn': ['Approval withdrawn', 'wait'],
  'approval.refused': ['Chat answer refused', 'wait'],
  'approval.expired': ['Approval expired', 'quiet'],
  'grant.created': ['Grant created', 'wait'],
  'grant.used': ['Grant used', 'good'],
  'grant.revoked': ['Grant revoked', 'quiet'],
  'kill_switch.activated': ['Kill switch activated', 'bad'],
  'kill_switch.deactivated': ['Kill switch deactivated', 'good'],
  'agent.registered': ['Agent registered', 'info'],
  'agent.updated': ['Agent updated', 'info'],
  'agent.suspended': ['Agent suspended', 'wait'],
  'agent.activated': ['Agent activated', 'good'],
  'agent.revoked': ['Agent revoked', 'bad'],
  'policy.created': ['Policy created', 'info'],
  'policy.updated': ['Policy updated', 'info'],
  'policy.deleted': ['Policy deleted', 'wait'],
  'policy.enabled': ['Policy enabled', 'good'],
  'policy.disabled': ['Policy disabled', 'wait'],
  'gateway.created': ['Gateway created', 'info'],
  'gateway.updated': ['Gateway updated', 'info'],
  'user.login': ['Signed in', 'quiet'],
  'user.password_changed': ['Password changed', 'quiet'],
  'user.password_reset': ['Password reset by an operator', 'wait'],
  'user.key_created': ['Approver key created', 'info'],
  'user.key_revoked': ['Approver key revoked', 'info'],
  'user.login_failed': ['Sign-in failed', 'wait'],
  'user.logout': ['Signed out', 'quiet'],
  'user.registered': ['User registered', 'info'],
  'user.role_changed': ['Rights changed', 'info'],
  'user.access_ended': ['Access ended by the identity provider', 'info'],
  'push_subscription.created': ['Web Push turned on', 'info'],
  'push_subscription.deleted': ['Web Push turned off', 'quiet'],
  'user.suspended': ['User suspended', 'wait'],
  'user.activated': ['User activated', 'good'],
  'config.exported': ['Bundle exported', 'info'],
  'config.imported': ['Bundle imported', 'info'],
  'settings.updated': ['Settings updated', 'info'],
  'audit.purged': ['Audit log purged', 'wait'],
  'owner_token.used': ['Owner token used', 'bad'],
}

export const EVENT_TYPES: readonly string[] = Object.keys(LABELS)

export function eventTitle(type: string): string {
  return labelOf(type)[0]
}

/**
 * Returns title and colour of an event type. Control planes of later versions can send unknown types, whose title is
 * the type itself.
 */
function labelOf(type: string): readonly [title: string, tone: Tone] {
  return Object.hasOwn(LABELS, type) ? LABELS[type as AuditEventType] : [type, 'quiet']
}

export function EventBadge({ type }: { readonly type: string }) {
  return (
    <ToneBadge tone={labelOf(type)[1]} title={type}>
      {eventTitle(type)}
    </ToneBadge>
  )
}
