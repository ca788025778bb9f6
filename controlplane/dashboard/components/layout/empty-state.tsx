import { EmptyState } from '@mantine/core'
import type { ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'

/** Nothing here yet: what would be here, and how it gets here. */
export function TeachingEmpty(props: {
  readonly icon: IconName
  readonly title: string
  readonly children: ReactNode
  readonly actions?: ReactNode
}) {
  const { icon, title, children, actions } = props
  return (
    <EmptyState
      className="teaching"
      icon={<Icon name={icon} size={28} />}
      title={title}
      description={children}
      withIndicatorBackground
    >
      {actions === undefined ? null : <EmptyState.Actions>{actions}</EmptyState.Actions>}
    </EmptyState>
  )
}
