import { Button, Group, Paper, SimpleGrid, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { DemoReply } from '../../../../core/wire/overview.ts'
import { call } from '../../api/client.ts'
import { useMutation } from '../form/use-mutation.ts'
import { ErrorNote } from '../layout/error-note.tsx'
import { DecisionBadge } from './decision-badge.tsx'

const SCENARIOS = [
  { number: 0, title: 'Safe', about: 'An agent creates an issue.' },
  { number: 1, title: 'Risky', about: 'An agent merges into production.' },
  { number: 2, title: 'Destructive', about: 'An agent deletes the main branch.' },
] as const

/**
 * Renders three example actions that the user can submit. The control plane decides them for a built-in agent without
 * credentials.
 */
export function DemoScenarios() {
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }} mt="md">
      {SCENARIOS.map((scenario) => (
        <Scenario key={scenario.number} {...scenario} />
      ))}
    </SimpleGrid>
  )
}

function Scenario({ number, title, about }: (typeof SCENARIOS)[number]) {
  const [reply, setReply] = useState<DemoReply | null>(null)
  const start = useMutation(async () => {
    setReply(await call('POST /api/dashboard/demo-action', { body: { scenario: number } }))
  })
  return (
    <Paper withBorder p="sm" className="inset">
      <Stack gap={6}>
        <Text fw={650} component="h3">
          {title}
        </Text>
        <Text size="sm" c="dimmed">
          {about}
        </Text>
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={() => start.run()} loading={start.isBusy}>
            Try it
          </Button>
          {reply === null ? null : <DecisionBadge decision={reply.decision.outcome} />}
        </Group>
        <div aria-live="polite">
          {reply === null ? null : (
            <Text size="sm">
              {reply.decision.reason} (risk {reply.decision.risk_score.toFixed(2)})
            </Text>
          )}
        </div>
        {start.error === null ? null : <ErrorNote error={start.error} />}
      </Stack>
    </Paper>
  )
}
