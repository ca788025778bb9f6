import { Group, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { usePendingCount } from '../../live/pending-count.tsx'

/**
 * Renders the heading of a page with its description and its actions. Sets the document title, with the number of
 * pending approvals.
 */
export function PageHead(props: {
  readonly title: string
  readonly about?: ReactNode
  readonly children?: ReactNode
}) {
  const { title, about, children } = props
  const pending = usePendingCount()
  useEffect(() => {
    document.title = `${pending === 0 ? '' : `(${pending}) `}${title} - Chaperone`
  }, [title, pending])
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
