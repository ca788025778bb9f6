import { ActionIcon, Autocomplete, Button, Group, Select, Stack, Text } from '@mantine/core'
import type { RuleDecision } from '../../../../core/wire/permissions.ts'
import { Icon } from '../../components/layout/icon.tsx'
import { RULE_DECISION_LABELS } from '../../labels/connector-labels.ts'
import { useResource } from '../../live/use-resource.ts'
import { type PatternDraft, patternProblem } from './draft.ts'

type Props = {
  readonly type: string
  readonly patterns: readonly PatternDraft[]
  readonly onChange: (patterns: readonly PatternDraft[]) => void
}

const SUGGESTED = 20

/** Edits the action patterns of a connector, with suggestions from the catalogue. The most specific pattern applies. */
export function PatternList({ type, patterns, onChange }: Props) {
  const catalogue = useResource('GET /api/dashboard/catalogue/{type}', { params: { type } })
  const names = catalogue.data?.actions.map((action) => action.type) ?? []
  const change = (changed: PatternDraft) =>
    onChange(patterns.map((each) => (each.key === changed.key ? changed : each)))
  return (
    <Stack gap="xs">
      {patterns.map((draft, index) => (
        <Group key={draft.key} align="flex-start" gap="xs" wrap="wrap">
          <Autocomplete
            className="grow"
            aria-label={`Pattern ${index + 1}`}
            placeholder={`${type}.*`}
            value={draft.pattern}
            onChange={(pattern) => change({ ...draft, pattern })}
            data={names}
            limit={SUGGESTED}
            error={draft.pattern === '' ? null : patternProblem(draft.pattern, type)}
          />
          <Select
            aria-label={`Decision ${index + 1}`}
            data={[...RULE_DECISION_LABELS]}
            value={draft.decision}
            onChange={(decision) => change({ ...draft, decision: decision as RuleDecision })}
            allowDeselect={false}
            w={150}
          />
          <ActionIcon
            variant="default"
            size="lg"
            onClick={() => onChange(patterns.filter((each) => each.key !== draft.key))}
            aria-label={`Remove pattern ${index + 1}`}
          >
            <Icon name="trash" size={16} />
          </ActionIcon>
        </Group>
      ))}
      <Group gap="sm">
        <Button
          variant="default"
          size="xs"
          leftSection={<Icon name="plus" size={14} />}
          onClick={() => {
            const key = Math.max(0, ...patterns.map((each) => each.key)) + 1
            onChange([...patterns, { key, pattern: `${type}.`, decision: 'allow' }])
          }}
        >
          Add pattern
        </Button>
        <Text size="xs" c="dimmed">
          Exact names take precedence over wildcards, longer patterns over shorter ones.
        </Text>
      </Group>
    </Stack>
  )
}
