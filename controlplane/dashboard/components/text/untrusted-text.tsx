import { Box, Button } from '@mantine/core'
import { useMemo, useState } from 'react'
import { condensed, type Shown, visibleSegments } from './visible-text.ts'

type Props = {
  readonly text: string
  /** True to show a block with line breaks and a scroll bar; false to show inline text. */
  readonly isBlock?: boolean
  /** Accessible name of the scrolling region; required with `isBlock`. */
  readonly label?: string
  /**
   * True to add a button to a long inline text. The button shows the rest of the text. Set for texts that an approver
   * needs for the decision.
   */
  readonly canGrow?: boolean
}

const INLINE_LIMIT = 300
const BLOCK_LIMIT = 4_000

/**
 * Shows text from an agent or an upstream. The text is rendered as text only, hidden characters are made visible, and
 * the text stays within its box. Untrusted text can therefore neither run as script nor cover other parts of the page.
 */
export function UntrustedText({ text, isBlock = false, label = 'Text', canGrow = false }: Props) {
  const [isWhole, setIsWhole] = useState(false)
  const limit = isBlock ? BLOCK_LIMIT : INLINE_LIMIT
  const shown = isWhole ? text : cut(text, limit)
  const segments = useMemo(() => condensed(visibleSegments(shown, { isOneLine: !isBlock })), [shown, isBlock])
  const more = text.length - shown.length
  const grow = (
    <Button variant="subtle" size="compact-sm" className="show-more" onClick={() => setIsWhole(true)}>
      Show {more.toLocaleString()} more characters
    </Button>
  )
  if (!isBlock) {
    return (
      <>
        <bdi className="untrusted">
          <Segments segments={segments} />
          {more > 0 && !canGrow ? (
            <span className="untrusted-more"> … {more.toLocaleString()} more characters</span>
          ) : null}
        </bdi>
        {more > 0 && canGrow ? grow : null}
      </>
    )
  }
  return (
    <Box>
      <Box role="group" className="untrusted untrusted-block" tabIndex={0} aria-label={label}>
        <Segments segments={segments} />
      </Box>
      {more > 0 ? grow : null}
    </Box>
  )
}

function Segments({ segments }: { readonly segments: readonly Shown[] }) {
  return segments.map((segment) => {
    switch (segment.kind) {
      case 'text':
        return segment.text
      case 'hidden':
        return (
          <span key={segment.at} className="untrusted-hidden" title={`${segment.code}: ${segment.name}`}>
            {segment.code}
          </span>
        )
      default:
        return (
          <span key={segment.at} className="untrusted-hidden">
            {segment.count} more hidden characters
          </span>
        )
    }
  })
}

/** Truncates the text to `limit` UTF-16 code units without splitting a surrogate pair. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  return text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, '')
}
