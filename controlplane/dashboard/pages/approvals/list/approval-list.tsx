import { Anchor, Text } from '@mantine/core'
import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'
import { call } from '../../../api/client.ts'
import { ActionName } from '../../../components/decision/action-name.tsx'
import { RiskBadge } from '../../../components/decision/risk-badge.tsx'
import { EmptyState } from '../../../components/layout/empty-state.tsx'
import type { Column } from '../../../components/layout/row-table.tsx'
import type { BulkAction } from '../../../components/list/bulk-actions.tsx'
import { SearchableTable } from '../../../components/list/searchable-table.tsx'
import { TimeLeft } from '../../../components/text/time-left.tsx'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'
import { hrefOf } from '../../../routing/page-location.ts'
import { useSession } from '../../../session/session.tsx'
import { answerObstacle } from '../answer-obstacle.ts'
import { isApprovedTogether } from './is-approved-together.ts'

type Props = { readonly pending: readonly ApprovalCard[]; readonly onDone: () => void }

/** Lists pending approvals as rows, ordered by their expiry. The user can answer several of them at once. */
export function ApprovalList({ pending, onDone }: Props) {
  const { user } = useSession()
  const mayAnswer = (card: ApprovalCard) => answerObstacle(user, card, null) === null
  return (
    <SearchableTable
      rows={[...pending].sort((a, b) => Date.parse(a.expires_at) - Date.parse(b.expires_at))}
      keyOf={({ id }) => id}
      nameOf={nameOf}
      textsOf={({ agent, action_type, target, summary }) => [agent, action_type, target, summary]}
      noun="approvals"
      columns={COLUMNS}
      bulk={[
        { ...DENY, appliesTo: mayAnswer },
        { ...APPROVE, appliesTo: (card) => mayAnswer(card) && isApprovedTogether(card) },
      ]}
      onDone={onDone}
      empty={
        <EmptyState icon="approvals" title="No pending approvals">
          Requests that a permission or a policy holds appear here.
        </EmptyState>
      }
    />
  )
}

function nameOf({ agent, action_type: type, target, summary }: ApprovalCard): string {
  return `${summary ?? [type, target].filter(Boolean).join(' on ')} (${agent})`
}

const COLUMNS: ReadonlyArray<Column<ApprovalCard>> = [
  { head: 'Request', cell: (card) => <Request card={card} /> },
  { head: 'Agent', cell: ({ agent }) => <UntrustedText text={agent} /> },
  { head: 'Risk', isWhole: true, cell: ({ risk_score: score }) => <RiskBadge score={score} /> },
  {
    head: 'Expires',
    isWhole: true,
    cell: ({ created_at: createdAt, expires_at: expiresAt }) => (
      <TimeLeft createdAt={createdAt} expiresAt={expiresAt} />
    ),
  },
]

const answer = (approved: boolean) => async (card: ApprovalCard, note: string) =>
  call('POST /api/dashboard/proxy-approvals', {
    body: { id: card.id, approved, ...(note === '' ? {} : { note }) },
  })

const DENY: Omit<BulkAction<ApprovalCard>, 'appliesTo'> = {
  label: 'Deny',
  done: 'denied',
  run: answer(false),
  about: 'The agents receive the reason. The gateway sends none of these requests:',
  leftOut: 'Other approvers must answer them.',
  reasonHint: 'For the agents and the audit log',
}
const APPROVE: Omit<BulkAction<ApprovalCard>, 'appliesTo'> = {
  label: 'Approve',
  done: 'approved',
  run: answer(true),
  about: 'The gateway sends these requests:',
  leftOut:
    'Several requests are approved together only if their risk is low, they have no effect class, the gateway could read their bodies, and their agents still wait. Answer the other requests on their cards.',
  reasonHint: 'Kept in the audit log',
}

/** Links to the card, which shows the whole request. */
function Request({ card: { id, action_type: type, target, summary } }: { readonly card: ApprovalCard }) {
  return (
    <>
      <Anchor href={hrefOf('approvals', { id })}>
        <ActionName type={type} />
      </Anchor>
      <Text size="sm" c="dimmed" component="div">
        <UntrustedText text={summary ?? target ?? ''} />
      </Text>
    </>
  )
}
