import { Badge } from '@mantine/core'
import type { ReactNode } from 'react'

/** Meaning of a badge's colour: allowed, pending or unusual, denied, informational, neutral. */
export type Tone = 'good' | 'wait' | 'bad' | 'info' | 'quiet'

export function ToneBadge(props: {
  readonly tone: Tone
  readonly children: ReactNode
  readonly title?: string
}) {
  const { tone, children, title } = props
  return (
    <Badge
      className={`tone tone-${tone}`}
      radius="sm"
      tt="none"
      fw={650}
      {...(title === undefined ? {} : { title })}
    >
      {children}
    </Badge>
  )
}
