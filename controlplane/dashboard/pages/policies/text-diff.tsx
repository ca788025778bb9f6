import { Box, Text } from '@mantine/core'
import { useMemo } from 'react'
import { diffLines } from './line-diff.ts'

const SIGNS = { same: ' ', added: '+', removed: '−' } as const
const TONES = { same: '', added: 'tone-good', removed: 'tone-bad' } as const

/** Shows the difference between two texts as one text. Each line that was added or removed has a sign. */
export function TextDiff({ before, after }: { readonly before: string; readonly after: string }) {
  const lines = useMemo(() => diffLines(before, after), [before, after])
  if (before === after) return <Text size="sm">No differences.</Text>
  return (
    <Box
      component="pre"
      className="untrusted-block mono"
      tabIndex={0}
      role="region"
      aria-label="Difference"
      m={0}
      mah="50vh"
    >
      {lines.map(({ kind, text, at }) => (
        <div key={at} className={TONES[kind]}>
          {SIGNS[kind]} {text}
        </div>
      ))}
    </Box>
  )
}
