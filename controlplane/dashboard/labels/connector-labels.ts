import type { AccessRule } from '../../../core/wire/gateways.ts'
import type { RuleDecision } from '../../../core/wire/permissions.ts'

export const ACCESS_RULE_LABELS: ReadonlyArray<{
  readonly value: AccessRule
  readonly label: string
  readonly description: string
}> = [
  {
    value: 'require_approval',
    label: 'Require approval',
    description: 'Reads are allowed; writes are held for approval.',
  },
  { value: 'read_only', label: 'Read only', description: 'Reads are allowed; everything else is denied.' },
  {
    value: 'allow_all',
    label: 'Allow all',
    description: 'Everything is allowed, unless a policy holds or denies it.',
  },
  {
    value: 'custom',
    label: 'Custom',
    description: 'Your own patterns. Actions without a matching pattern are denied.',
  },
]

export const RULE_DECISION_LABELS: ReadonlyArray<{ readonly value: RuleDecision; readonly label: string }> = [
  { value: 'allow', label: 'Allow' },
  { value: 'require_approval', label: 'Require approval' },
  { value: 'deny', label: 'Deny' },
]
