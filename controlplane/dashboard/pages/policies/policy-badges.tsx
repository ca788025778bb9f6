import type { PolicyDetails, PolicyTestResult } from '../../../../core/wire/policies.ts'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'

/** Shows whether a policy is active. */
export function StateBadge({ policy }: { readonly policy: PolicyDetails }) {
  if (!policy.enabled) return <ToneBadge tone="quiet">Disabled</ToneBadge>
  if (policy.active_version === null) return <ToneBadge tone="bad">Never active</ToneBadge>
  if (!policy.active) return <ToneBadge tone="wait">Version {policy.active_version} active</ToneBadge>
  if (policy.mode === 'monitor') return <ToneBadge tone="info">Monitor</ToneBadge>
  return <ToneBadge tone="good">Active</ToneBadge>
}

export function TestsBadge({ tests }: { readonly tests: readonly PolicyTestResult[] }) {
  if (tests.length === 0) return <span className="dim">none</span>
  const passed = tests.filter((test) => test.passed).length
  if (passed < tests.length) {
    const failed = tests.length - passed
    return <ToneBadge tone="bad">{`${failed} of ${tests.length} failed`}</ToneBadge>
  }
  return <ToneBadge tone="good">{`${passed} passed`}</ToneBadge>
}
