import { Button, Group, Select, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { PolicyVersionsReply } from '../../../../core/wire/policies.ts'
import { Loaded } from '../../components/layout/loading.tsx'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'
import { localTime, TimeText } from '../../components/text/time-text.tsx'
import { useResource } from '../../live/use-resource.ts'
import { TextDiff } from './text-diff.tsx'

type Props = {
  readonly policyId: string
  readonly text: string
  readonly onUse: ((policyYaml: string) => void) | null
}

/** Shows the earlier versions of the policy, compared with the text in the editor. */
export function Versions({ policyId, text, onUse }: Props) {
  const kept = useResource('GET /api/dashboard/policies/{policy_id}/versions', {
    params: { policy_id: policyId },
  })
  return (
    <Loaded of={kept}>{({ versions }) => <Compare versions={versions} text={text} onUse={onUse} />}</Loaded>
  )
}

type CompareProps = {
  readonly versions: PolicyVersionsReply['versions']
  readonly text: string
  readonly onUse: Props['onUse']
}

function Compare({ versions, text, onUse }: CompareProps) {
  const [chosen, setChosen] = useState(String((versions[1] ?? versions[0])?.version ?? ''))
  const shown = versions.find(({ version }) => String(version) === chosen)
  if (shown === undefined) return <Text size="sm">No earlier versions.</Text>
  return (
    <Stack gap="sm">
      <Select
        label="Compare the text in the editor with"
        data={versions.map(({ version, created_at }) => ({
          value: String(version),
          label: `Version ${version}, ${localTime(created_at)}`,
        }))}
        value={chosen}
        onChange={(value) => setChosen(value ?? chosen)}
        allowDeselect={false}
      />
      <Group justify="space-between" gap="xs">
        <Group gap="xs">
          <ToneBadge tone={shown.passed ? 'good' : 'bad'}>
            {shown.passed ? 'Tests passed' : 'Tests failed'}
          </ToneBadge>
          <TimeText at={shown.created_at} />
        </Group>
        {onUse === null || shown.policyYaml === text ? null : (
          <Button size="xs" variant="default" onClick={() => onUse(shown.policyYaml)}>
            Restore version {shown.version} in the editor
          </Button>
        )}
      </Group>
      <TextDiff before={shown.policyYaml} after={text} />
    </Stack>
  )
}
