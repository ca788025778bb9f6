import { Group, Paper, Title } from '@mantine/core'
import type { ReactNode } from 'react'

/** Renders a section of a page with a title. */
export function Panel(props: {
  readonly title: string
  readonly aside?: ReactNode
  readonly children: ReactNode
}) {
  const { title, aside, children } = props
  return (
    <Paper component="section" withBorder p="md" className="panel" aria-label={title}>
      <Group justify="space-between" mb="sm" gap="xs">
        <Title order={2} size="h5">
          {title}
        </Title>
        {aside}
      </Group>
      {children}
    </Paper>
  )
}
