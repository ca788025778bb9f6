import { Group, Stack, Text } from '@mantine/core'
import type { ExplainReply } from '../api/shapes.ts'
import { ActionName } from './action-name.tsx'
import { CopyText } from './copy-text.tsx'
import { DECIDED_BY } from './decided-by.ts'
import { DecisionBadge } from './decision-badge.tsx'
import { RiskBadge } from './risk-badge.tsx'
import { UntrustedText } from './untrusted-text.tsx'

/** The verdict in front, then the same text that the command line prints. */
export function ExplainAnswer({ reply }: { readonly reply: ExplainReply }) {
  const { decision, action } = reply
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <DecisionBadge decision={decision.verdict} />
        <ActionName type={action?.type ?? null} />
      </Group>
      <Text component="div">
        Decided by {DECIDED_BY[decision.source]}: <UntrustedText text={decision.reason} canGrow />
      </Text>
      {action === null ? null : <RiskBadge score={decision.riskScore} factors={decision.riskFactors} />}
      <CopyText label="explanation" text={reply.text} />
    </Stack>
  )
}
