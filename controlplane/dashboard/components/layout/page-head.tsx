import { Group, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'

/** Renders the heading of a page with its description and its actions. Sets the document title. */
export function PageHead(props: {
  readonly title: string
  readonly about?: ReactNode
  readonly children?: ReactNode
}) {
  const { title, about, children } = props
  useEffect(() => {
    document.title = `${title} - Chaperone`
  }, [title])
  return (
    <Group justify="space-between" align="flex-end" mb="lg" gap="sm">
      <div>
        <Title order={1} size="h2" tabIndex={-1} id="page-title">
          {title}
        </Title>
        {about === undefined ? null : (
          <Text c="dimmed" size="sm" mt={2}>
            {about}
          </Text>
        )}
      </div>
      {children === undefined ? null : <Group gap="sm">{children}</Group>}
    </Group>
  )
}
