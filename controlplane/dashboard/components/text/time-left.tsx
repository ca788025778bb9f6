import { Progress, Text } from '@mantine/core'
import { useNow } from '../../live/use-now.ts'
import { leftText } from './left-text.ts'

/** Shows the countdown to the expiry of an approval. The server's clock decides when the approval expires. */
export function TimeLeft({
  createdAt,
  expiresAt,
}: {
  readonly createdAt: string
  readonly expiresAt: string
}) {
  const now = useNow(1_000)
  const leftMs = Date.parse(expiresAt) - now
  const wholeMs = Math.max(Date.parse(expiresAt) - Date.parse(createdAt), 1)
  const text = leftText(leftMs)
  return (
    <div className="time-left">
      <Text size="sm" fw={600} component="span" title={`until ${new Date(expiresAt).toISOString()}`}>
        {text}
      </Text>
      <Progress
        value={Math.max(0, Math.min(100, (leftMs / wholeMs) * 100))}
        size="xs"
        className={leftMs < 60_000 ? 'left-short' : 'left-long'}
        aria-hidden="true"
      />
    </div>
  )
}
