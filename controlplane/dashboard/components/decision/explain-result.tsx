import { Group, Stack, Text } from '@mantine/core'
import type { ExplainReply } from '../../../../core/wire/explain.ts'
import { decisionSourceLabel } from '../../labels/decision-source-labels.ts'
import { CopyText } from '../text/copy-text.tsx'
import { UntrustedText } from '../text/untrusted-text.tsx'
import { ActionName } from './action-name.tsx'
import { DecisionBadge } from './decision-badge.tsx'
import { RiskBadge } from './risk-badge.tsx'

/**
 * Shows the decision on an explained request. On demand, also shows the text that `chaperone explain` prints. This
 * text repeats the reason.
 */
export function ExplainResult({ reply }: { readonly reply: ExplainReply }) {
  const { decision, action } = reply
  const remedy = decision['remedy']
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <DecisionBadge decision={decision.verdict} />
        <ActionName type={action?.type ?? null} />
      </Group>
      <Text component="div">
        Decided by {decisionSourceLabel(decision.source) ?? <UntrustedText text={decision.source} />}:{' '}
        <UntrustedText text={decision.reason} canGrow />
      </Text>
      {action === null ? null : <RiskBadge score={decision.riskScore} factors={decision.riskFactors} />}
      {typeof remedy === 'string' ? (
        <Text component="div">
          To permit: <UntrustedText text={remedy} canGrow />
        </Text>
      ) : null}
      <details>
        <summary className="summary">Output of chaperone explain</summary>
        <CopyText label="explanation" text={reply.text} />
      </details>
    </Stack>
  )
}
