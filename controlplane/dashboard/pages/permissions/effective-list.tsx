import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { EffectiveAction } from '../../../../core/wire/governance.ts'
import { ActionName } from '../../parts/action-name.tsx'
import { DecisionBadge } from '../../parts/decision-badge.tsx'
import { RowTable } from '../../parts/row-table.tsx'
import { type Tone, ToneBadge } from '../../parts/tone-badge.tsx'
import { UntrustedText } from '../../parts/untrusted-text.tsx'
import { hrefOf } from '../../routing/place.ts'
import { useSession } from '../../session/session.tsx'

const STEP = 50
const RISK: Readonly<Record<EffectiveAction['risk'], Tone>> = { low: 'good', medium: 'wait', high: 'bad' }
const EFFECT: Readonly<Record<EffectiveAction['effect'], string>> = {
  read: 'Reads',
  compute: 'Computes',
  write: 'Changes',
}
const WOULD = { ALLOW: 'would allow', HOLD: 'would hold', DENY: 'would deny' } as const

/** One line an action: what it is, what happens, who wins. */
export function EffectiveList(props: {
  readonly actions: readonly EffectiveAction[]
  readonly agent: string
}) {
  const { actions } = props
  const [limit, setLimit] = useState(STEP)
  return (
    <Stack gap="sm">
      <RowTable
        rows={actions.slice(0, limit)}
        keyOf={({ type }) => type}
        columns={[
          { head: 'Action', width: '30%', cell: ({ type }) => <ActionName type={type} /> },
          { head: 'Effect', isWhole: true, cell: ({ effect }) => EFFECT[effect] },
          {
            head: 'Risk',
            isWhole: true,
            cell: ({ risk }) => <ToneBadge tone={RISK[risk]}>{risk}</ToneBadge>,
          },
          {
            head: 'Decision',
            isWhole: true,
            cell: ({ decision, would }) => (
              <DecisionBadge decision={decision} note={decision === would ? null : WOULD[would]} />
            ),
          },
          { head: 'Who wins and why', width: '38%', cell: (action) => <Why action={action} /> },
        ]}
      />
      {actions.length > limit ? (
        <Button variant="default" onClick={() => setLimit(limit + STEP)}>
          Show {Math.min(STEP, actions.length - limit)} more
        </Button>
      ) : null}
    </Stack>
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
            no permission names it
          </Text>
        ) : null}
        {rules.map(({ policyId, policyName, rule }) =>
          may('admin') ? (
            <Anchor key={`${policyId} ${rule}`} size="sm" href={hrefOf('policies', { policy: policyId })}>
              <UntrustedText text={`${policyName}: ${rule}`} />
            </Anchor>
          ) : (
            <Text key={`${policyId} ${rule}`} size="sm" component="span">
              <UntrustedText text={`${policyName}: ${rule}`} />
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
