import { Anchor, Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { RecordWhy, TrafficRecord } from '../../../../core/record.ts'
import { DecisionBadge } from '../../components/decision/decision-badge.tsx'
import { RiskBadge } from '../../components/decision/risk-badge.tsx'
import { FactList } from '../../components/layout/fact-list.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { decisionSourceLabel } from '../../labels/decision-source-labels.ts'
import { DENIAL_LABELS } from '../../labels/denial-labels.ts'
import { hrefOf } from '../../routing/page-location.ts'

/**
 * Denial reasons whose label is omitted when the record has a more detailed reason (`why`), because the label states
 * the same.
 */
const EXPLAINED: ReadonlySet<string> = new Set([
  ...['permission', 'policy', 'policy_invalid'],
  ...['kill_switch', 'agent', 'credential'],
])

/** Shows the decision as the gateway recorded it. */
export function RecordedDecision({ record }: { readonly record: TrafficRecord }) {
  const { decision, note, would, reason, approval_id, snapshot_version, why } = record
  return (
    <Panel title="Decision">
      <Stack gap="sm">
        <Group gap="xs">
          <DecisionBadge decision={decision} note={record.refusals ? null : note} />
          {would === null ? null : (
            <Text size="sm" component="span">
              with full enforcement: <DecisionBadge decision={would} />
            </Text>
          )}
        </Group>
        {reason === null || isRepeated(reason, why) ? null : (
          <Text component="div">{DENIAL_LABELS[reason] ?? <UntrustedText text={reason} />}</Text>
        )}
        {why === null || why === undefined ? null : <Reason why={why} />}
        <FactList
          facts={[
            ['Permission', permissionOf(record)],
            ['Policies', policiesOf(record)],
            ['Approver groups', why?.approver_groups.join(', ')],
            ['Configuration', snapshot_version === null ? null : `version ${snapshot_version}`],
            [
              'Approval',
              approval_id === null ? null : (
                <Anchor
                  key="approval"
                  inherit
                  href={hrefOf('approvals', { tab: 'answered', id: approval_id })}
                >
                  {approval_id}
                </Anchor>
              ),
            ],
          ]}
        />
      </Stack>
    </Panel>
  )
}

/** Reports whether `why` repeats the reason of the record. For an allowed request, both are the text of the rule. */
function isRepeated(reason: string, why: RecordWhy | null | undefined): boolean {
  return why != null && (EXPLAINED.has(reason) || reason === why.reason)
}

/** Shows the source of the decision, the reason, and the risk. */
function Reason({ why }: { readonly why: RecordWhy }) {
  return (
    <>
      <Text component="div">
        Decided by {decisionSourceLabel(why.source) ?? <UntrustedText text={why.source} />}:{' '}
        <UntrustedText text={why.reason} />
      </Text>
      <RiskBadge score={why.risk_score} factors={why.risk_factors} />
    </>
  )
}

/**
 * Returns the permission that decided. Returns null for an aggregate record whose requests have different
 * permissions, or none.
 */
function permissionOf({ permission, why, refusals }: TrafficRecord): ReactNode {
  if (permission === null) return refusals ? null : 'none matched'
  return (
    <>
      {why?.pattern ? <UntrustedText text={why.pattern} /> : null} <code>{permission}</code>
    </>
  )
}

function policiesOf({ policies, why, refusals }: TrafficRecord): ReactNode {
  if (policies.length === 0) return refusals ? null : 'none matched'
  const rules = why?.rules.map(({ policy, rule }) => `${policy}: ${rule}`) ?? []
  return <UntrustedText text={[...rules, `(${policies.join(', ')})`].join(' ')} />
}
