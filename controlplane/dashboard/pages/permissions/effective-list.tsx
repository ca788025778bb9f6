import { Anchor, Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { EffectiveAction } from '../../../../core/wire/permissions.ts'
import { ActionName } from '../../components/decision/action-name.tsx'
import { DecisionBadge } from '../../components/decision/decision-badge.tsx'
import { RowTable } from '../../components/layout/row-table.tsx'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { hrefOf } from '../../routing/page-location.ts'
import { useSession } from '../../session/session.tsx'
import type { ComparedAgent } from './use-compared.ts'

const RISK: Readonly<Record<EffectiveAction['risk'], ReactNode>> = {
  low: <ToneBadge tone="good">Low</ToneBadge>,
  medium: <ToneBadge tone="wait">Medium</ToneBadge>,
  high: <ToneBadge tone="bad">High</ToneBadge>,
}
const EFFECT: Readonly<Record<EffectiveAction['effect'], string>> = {
  read: 'Reads',
  compute: 'Computes',
  write: 'Writes',
}
const WOULD = { ALLOW: 'would allow', HOLD: 'would hold', DENY: 'would deny' } as const

/** Lists the actions of one resource with their decision and the rule that decided. */
export function EffectiveList(props: {
  readonly actions: readonly EffectiveAction[]
  readonly agent: string
  readonly compared: readonly ComparedAgent[]
}) {
  const { actions, agent, compared } = props
  return (
    <RowTable
      rows={actions}
      keyOf={({ type }) => type}
      columns={[
        { head: 'Action', width: '40%', cell: ({ type }) => <ActionName type={type} /> },
        { head: 'Effect', isWhole: true, cell: ({ effect }) => EFFECT[effect] },
        { head: 'Risk', isWhole: true, cell: ({ risk }) => RISK[risk] },
        {
          head: compared.length === 0 ? 'Decision' : agent,
          isWhole: true,
          cell: ({ decision, would }) => (
            <DecisionBadge decision={decision} note={decision === would ? null : WOULD[would]} />
          ),
        },
        ...compared.map((other) => ({
          head: other.agent,
          isWhole: true,
          cell: (action: EffectiveAction) => <Other action={action} of={other} />,
        })),
        { head: 'Decided by', width: '32%', cell: (action) => <Why action={action} /> },
      ]}
    />
  )
}

/**
 * Shows the decision for a compared agent. Marks a decision that differs from the decision for the selected
 * agent.
 */
function Other({ action, of }: { readonly action: EffectiveAction; readonly of: ComparedAgent }) {
  const other = of.byType.get(action.type)
  if (other === undefined) return <span className="dim">unknown</span>
  const note = other.decision === other.would ? null : WOULD[other.would]
  return (
    <Group gap={6} wrap="nowrap">
      <DecisionBadge decision={other.decision} note={note} />
      {other.decision === action.decision ? null : <ToneBadge tone="quiet">differs</ToneBadge>}
    </Group>
  )
}

const SOURCES: Readonly<Record<string, string>> = {
  permission: 'Permission',
  policy: 'Policy',
  default: 'Default',
  level: 'Enforcement level',
  agent: "Agent's status",
  connector: 'Connector',
  kill: 'Kill switch',
}

function Why({ action }: { readonly action: EffectiveAction }) {
  const { may } = useSession()
  const { source, permission, rules, reason } = action
  return (
    <>
      <Group gap={6}>
        <ToneBadge tone="quiet">{SOURCES[source] ?? source}</ToneBadge>
        {permission === null ? null : <code>{permission.pattern}</code>}
        {source === 'default' ? (
          <Text size="sm" c="dimmed" component="span">
            no matching permission
          </Text>
        ) : null}
        {rules.map(({ policyId, policyName, rule, tier }) =>
          may('policies/get') ? (
            <Anchor key={`${policyId} ${rule}`} size="sm" href={hrefOf('policies', { policy: policyId })}>
              <UntrustedText text={ruleText({ policyName, rule, tier })} />
            </Anchor>
          ) : (
            <Text key={`${policyId} ${rule}`} size="sm" component="span">
              <UntrustedText text={ruleText({ policyName, rule, tier })} />
            </Text>
          ),
        )}
      </Group>
      {source === 'permission' || source === 'default' ? null : (
        <Text size="sm" c="dimmed" component="div">
          <UntrustedText text={reason} />
        </Text>
      )}
    </>
  )
}

function ruleText({
  policyName,
  rule,
  tier,
}: Pick<EffectiveAction['rules'][number], 'policyName' | 'rule' | 'tier'>) {
  return `${policyName}${tier === 'platform' ? ' (platform)' : ''}: ${rule}`
}
