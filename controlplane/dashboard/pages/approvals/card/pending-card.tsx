import { Anchor, Box, Group, Paper, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'
import { ActionName } from '../../../components/decision/action-name.tsx'
import { RiskBadge, riskOf } from '../../../components/decision/risk-badge.tsx'
import { TimeLeft } from '../../../components/text/time-left.tsx'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'
import { visibleLength } from '../../../components/text/visible-text.ts'
import { usePast } from '../../../live/use-past.ts'
import { AnswerForm } from '../answer-form.tsx'
import { AgentHistory } from './agent-history.tsx'
import { AgentStatement } from './agent-statement.tsx'
import { DisconnectedNote } from './disconnected-note.tsx'
import { ExpiredNote } from './expired-note.tsx'
import { hasDisconnected } from './has-disconnected.ts'
import { HeaderList } from './header-list.tsx'
import { ParameterList } from './parameter-list.tsx'
import { RequestFacts } from './request-facts.tsx'
import { UnreadBody } from './unread-body.tsx'

type Props = {
  readonly card: ApprovalCard
  /** Called with the answer, or with null when the user dismisses a card whose approval had already ended. */
  readonly onAnswered: (approved: boolean | null) => void
  readonly onPartly: () => void
  readonly onDismiss: () => void
}

/** Shows a held request: the action, its details, and the answer form. */
export function PendingCard({ card, onAnswered, onPartly, onDismiss }: Props) {
  const isExpired = usePast(card.expires_at)
  return (
    <Paper
      component="article"
      withBorder
      className={`approval approval-${riskOf(card.risk_score).tone}`}
      tabIndex={-1}
      id={card.id}
      data-approval={card.id}
      aria-label={`${card.action_type} of ${card.agent}`}
    >
      <CardHead card={card}>
        <Group justify="space-between" align="flex-start" wrap="wrap" gap="xs">
          <div className="approval-title">
            <ActionName type={card.action_type} isLarge />
            {card.target === null ? null : (
              <div className="approval-target">
                on <UntrustedText text={card.target} canGrow />
              </div>
            )}
            {card.summary == null ? null : <Summary summary={card.summary} url={card.object_url ?? null} />}
          </div>
          <TimeLeft createdAt={card.created_at} expiresAt={card.expires_at} />
        </Group>
        <RiskBadge score={card.risk_score} factors={card.risk_factors} />
      </CardHead>
      <Stack gap="sm" p="md">
        {card.access_request === true ? <AccessRequestNote /> : null}
        <RequestFacts card={card} />
        <HeaderList headers={card.headers} />
        <ParameterList
          parameters={card.parameters}
          hasBody={card.body_sha256 !== null && card.unread_body === null}
        />
        {card.unread_body === null ? null : <UnreadBody body={card.unread_body} />}
        {card.requested_by_agent_text === null ? null : (
          <AgentStatement text={card.requested_by_agent_text} />
        )}
        <AgentHistory agent={card.agent} />
        {isExpired || !hasDisconnected(card) ? null : <DisconnectedNote />}
        {isExpired ? (
          <ExpiredNote agent={card.agent} onDismiss={onDismiss} />
        ) : (
          <AnswerForm card={card} onAnswered={onAnswered} onPartly={onPartly} />
        )}
      </Stack>
    </Paper>
  )
}

/** States that the card belongs to an access request, for which no request is held. */
function AccessRequestNote() {
  return (
    <Text size="sm" role="note">
      The agent asks for access; no request is held. To give access, use "Grant for a time", or save a
      permission with "Always allow". An approval without a grant has no effect.
    </Text>
  )
}

/** Shows what the action does, with a link to its object at the provider. */
function Summary({ summary, url }: { readonly summary: string; readonly url: string | null }) {
  return (
    <Text component="p" size="md" my={4}>
      <UntrustedText text={summary} canGrow />{' '}
      {url === null ? null : (
        <Anchor href={url} target="_blank" rel="noreferrer" underline="always">
          Open at {new URL(url).hostname}
        </Anchor>
      )}
    </Text>
  )
}

/**
 * Maximum length, in characters, of a card header that does not scroll. A longer header is in a box that scrolls and
 * can have the keyboard focus, so that the header does not fill the window.
 */
const LONG_HEAD = 180

function CardHead({ card, children }: { readonly card: ApprovalCard; readonly children: ReactNode }) {
  const isLong = visibleLength(card.action_type) + visibleLength(card.target ?? '') > LONG_HEAD
  if (!isLong) return <header className="approval-head">{children}</header>
  return (
    <Box
      component="header"
      className="approval-head approval-head-long"
      tabIndex={0}
      role="group"
      aria-label="Action"
    >
      {children}
    </Box>
  )
}
