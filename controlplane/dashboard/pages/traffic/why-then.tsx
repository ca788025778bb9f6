import { Group, Stack, Text } from '@mantine/core'
import type { TrafficRecord } from '../../../../core/record.ts'
import { DecisionBadge } from '../../parts/decision-badge.tsx'
import { FactList } from '../../parts/fact-list.tsx'
import { Panel } from '../../parts/panel.tsx'
import { UntrustedText } from '../../parts/untrusted-text.tsx'
import { hrefOf } from '../../routing/place.ts'

const REASONS: Readonly<Record<string, string>> = {
  permission: 'A permission refused it, or none allows it.',
  policy: 'A policy refused it.',
  kill_switch: 'The kill switch was active.',
  unknown_host: 'No connector owns this host.',
  approval_denied: 'A person said no.',
  approval_expired: 'Nobody answered in time.',
  ambiguous: 'The request could be read in two ways, so it was not read at all.',
  not_ready: 'The gateway had no configuration in force.',
}

/** What settled it at the time, as the gateway recorded it. */
export function WhyThen({ record }: { readonly record: TrafficRecord }) {
  const { decision, note, would, reason, permission, policies, approval_id, snapshot_version } = record
  return (
    <Panel title="Decision">
      <Stack gap="sm">
        <Group gap="xs">
          <DecisionBadge decision={decision} note={note} />
          {would === null ? null : (
            <Text size="sm" component="span">
              full enforcement: <DecisionBadge decision={would} />
            </Text>
          )}
        </Group>
        {reason === null ? null : (
          <Text component="div">{REASONS[reason] ?? <UntrustedText text={reason} />}</Text>
        )}
        <FactList
          facts={[
            ['Permission', permission === null ? 'none matched' : <code key="permission">{permission}</code>],
            ['Policies', policies.length === 0 ? 'none had an opinion' : policies.join(', ')],
            ['Rules in force', snapshot_version === null ? null : `version ${snapshot_version}`],
            [
              'Approval',
              approval_id === null ? null : (
                <a key="approval" href={hrefOf('approvals', { tab: 'answered' })}>
                  {approval_id}
                </a>
              ),
            ],
          ]}
        />
      </Stack>
    </Panel>
  )
}
