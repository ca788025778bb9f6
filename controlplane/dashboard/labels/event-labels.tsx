import { type Tone, ToneBadge } from '../components/layout/tone-badge.tsx'

const WORDS: Readonly<Record<string, readonly [title: string, tone: Tone]>> = {
  'action.requested': ['Action requested', 'quiet'],
  'action.allowed': ['Action allowed', 'good'],
  'action.denied': ['Action denied', 'bad'],
  'action.pending_approval': ['Waits for approval', 'wait'],
  'action.executed': ['Action executed', 'good'],
  'action.execution_failed': ['Execution failed', 'bad'],
  'action.cancelled': ['Action cancelled', 'quiet'],
  'approval.responded': ['Approval answered', 'info'],
  'approval.refused': ['Chat answer refused', 'wait'],
  'approval.expired': ['Approval expired', 'quiet'],
  'kill_switch.activated': ['Stopped', 'bad'],
  'kill_switch.deactivated': ['Stop lifted', 'good'],
  'agent.registered': ['Agent registered', 'info'],
  'agent.updated': ['Agent changed', 'info'],
  'agent.suspended': ['Agent suspended', 'wait'],
  'agent.activated': ['Agent activated', 'good'],
  'agent.revoked': ['Agent revoked', 'bad'],
  'policy.created': ['Policy created', 'info'],
  'policy.updated': ['Policy changed', 'info'],
  'policy.deleted': ['Policy removed', 'wait'],
  'policy.enabled': ['Policy enabled', 'good'],
  'policy.disabled': ['Policy disabled', 'wait'],
  'gateway.created': ['Gateway created', 'info'],
  'gateway.updated': ['Gateway changed', 'info'],
  'user.login': ['Signed in', 'quiet'],
  'user.password_changed': ['Password changed', 'quiet'],
  'user.password_reset': ['Password reset on the machine', 'wait'],
  'user.key_created': ['Approver key made', 'info'],
  'user.key_revoked': ['Approver key ended', 'info'],
  'user.login_failed': ['Sign-in failed', 'wait'],
  'user.logout': ['Signed out', 'quiet'],
  'user.registered': ['Person registered', 'info'],
  'user.role_changed': ['Rights changed', 'info'],
  'user.access_ended': ['Access ended by the identity provider', 'info'],
  'user.suspended': ['Person suspended', 'wait'],
  'user.activated': ['Person activated', 'good'],
  'config.exported': ['Bundle exported', 'info'],
  'config.imported': ['Bundle imported', 'info'],
  'settings.updated': ['Settings changed', 'info'],
  'audit.purged': ['Audit log purged', 'wait'],
  'owner_token.used': ["Owner's token used", 'bad'],
}

export const EVENT_TYPES: readonly string[] = Object.keys(WORDS)

export function eventTitle(type: string): string {
  return WORDS[type]?.[0] ?? type
}

export function EventBadge({ type }: { readonly type: string }) {
  return (
    <ToneBadge tone={WORDS[type]?.[1] ?? 'quiet'} title={type}>
      {eventTitle(type)}
    </ToneBadge>
  )
}
