import { EmptyState as MantineEmptyState } from '@mantine/core'
import type { ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'

/** States that a list is empty, and explains how to create its first entry. */
export function EmptyState(props: {
  readonly icon: IconName
  readonly title: string
  readonly children: ReactNode
  readonly actions?: ReactNode
}) {
  const { icon, title, children, actions } = props
  return (
    <MantineEmptyState
      className="empty-state"
      icon={<Icon name={icon} size={28} />}
      title={title}
      description={children}
      withIndicatorBackground
    >
      {actions === undefined ? null : <MantineEmptyState.Actions>{actions}</MantineEmptyState.Actions>}
    </MantineEmptyState>
  )
}
