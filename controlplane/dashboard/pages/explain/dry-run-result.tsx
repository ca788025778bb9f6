import { Group, Stack, Table, Text } from '@mantine/core'
import type { DryRunReply } from '../../../../core/wire/v1.ts'
import { DecisionBadge } from '../../components/decision/decision-badge.tsx'
import { RiskBadge } from '../../components/decision/risk-badge.tsx'
import { FactList } from '../../components/layout/fact-list.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'

/** Shows the decision of a dry run, followed by all policies and rules that were evaluated. */
export function DryRunResult({ reply }: { readonly reply: DryRunReply }) {
  const { decision, trace } = reply
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <DecisionBadge decision={decision.outcome} />
        <UntrustedText text={decision.reason} />
      </Group>
      <RiskBadge score={decision.risk_score} factors={decision.risk_factors} />
      <FactList
        facts={[
          ['Rules', decision.matched_rules.join(', ')],
          ['Approvers', decision.approver_groups.join(', ')],
          ['Policies evaluated', String(reply.policies_evaluated)],
        ]}
      />
      {trace.map((policy) => (
        <section key={policy.policy_id} aria-label={policy.policy_name}>
          <Text fw={650} component="h3" size="sm">
            {policy.policy_name} {policy.scope_matched ? '' : '(scope does not match)'}
          </Text>
          {policy.rules.length === 0 ? null : <RuleTable rules={policy.rules} />}
        </section>
      ))}
    </Stack>
  )
}

function RuleTable({ rules }: { readonly rules: DryRunReply['trace'][number]['rules'] }) {
  return (
    <Table verticalSpacing={4} layout="fixed">
      <Table.Tbody>
        {rules.map((rule) => (
          <Table.Tr key={rule.rule_name}>
            <Table.Td w="32%" className="note">
              {rule.rule_name}
            </Table.Td>
            <Table.Td className="note">
              {rule.conditions_matched ? (
                <DecisionBadge decision={rule.decision ?? 'no decision'} />
              ) : (
                <Text size="sm" c="dimmed" component="span">
                  condition not met: <code>{rule.failed_condition ?? 'unknown'}</code>
                </Text>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
