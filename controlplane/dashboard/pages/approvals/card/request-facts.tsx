import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'
import { FactList } from '../../../components/layout/fact-list.tsx'
import { instanceLink } from '../../../components/text/instance-link.tsx'
import { TimeText } from '../../../components/text/time-text.tsx'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'
import { effectsText } from '../../../labels/effects-text.ts'
import { policyBehind } from '../always-allow/permission-proposal.ts'
import { ApproverSets } from './approver-sets.tsx'
import { hasDisconnected } from './has-disconnected.ts'
import { PinnedState } from './pinned-state.tsx'

/** Shows the destination of the held request, the agent, and the rule that requires an approver. */
export function RequestFacts({ card }: { readonly card: ApprovalCard }) {
  return (
    <FactList
      facts={[
        ['Agent', <UntrustedText key="agent" text={card.agent} />],
        ['Instance', instanceLink(card.instance)],
        ['Request', card.method === null ? null : <RequestLine key="request" card={card} />],
        ['Effect', card.effect ?? null],
        ['Effects', effectsText(card.effects)],
        ['Held by', <HeldBy key="rule" card={card} />],
        [
          'Approvers',
          card.required_groups.length === 0 ? 'any member' : <ApproverSets key="sets" card={card} />,
        ],
        ['Agent state', agentState(card)],
        ['Pinned state', <PinnedState key="state" pins={card.pins} />],
        ['Held at', <TimeText key="at" at={card.created_at} />],
        [
          'Body',
          card.body_sha256 === null ? null : (
            <code key="body" title={card.body_sha256}>
              sha256 {card.body_sha256.slice(0, 16)}…
            </code>
          ),
        ],
      ]}
    />
  )
}

/** States whether a client of the agent still waits for the answer. */
function agentState(card: ApprovalCard): string | null {
  if (card.status !== 'pending') return null
  if (card.kind === 'action') return 'waits for the answer through the API'
  return hasDisconnected(card) ? 'disconnected' : 'waits for the answer'
}

/** Shows the policy rule or permission pattern that requires approval. */
function HeldBy({ card }: { readonly card: ApprovalCard }) {
  if (card.matched_rule === null) return 'a default'
  return (
    <>
      {policyBehind(card) === null ? 'permission' : 'policy'}{' '}
      <code className="note">
        <UntrustedText text={card.matched_rule} />
      </code>
    </>
  )
}

export function RequestLine({ card }: { readonly card: Pick<ApprovalCard, 'method' | 'host' | 'path'> }) {
  return (
    <code className="request-line">
      <strong>{card.method}</strong> <UntrustedText text={`${card.host ?? ''}${card.path ?? ''}`} canGrow />
    </code>
  )
}
