import { requiredText } from '../../../../core/decision/policies/required-groups.ts'
import { accessRequestText } from '../../../../core/wire/gateway/access-request-text.ts'
import type { ApprovalCard } from '../../../../core/wire/gateway/internal.ts'
import type { Notice } from './channel.ts'

/** Maximum number of characters of one fact. */
const MAX_FACT = 300

export type NoticeContext = {
  readonly id: string
  readonly at: Date
  readonly dashboardUrl: string | null
  readonly approvers: readonly string[]
}

/** Returns the notice about a hold. The notice contains no parameters, headers or body of the request. */
export function holdNotice(
  card: ApprovalCard,
  event: 'approval.opened' | 'approval.ended',
  given: NoticeContext,
): Notice {
  const state = event === 'approval.opened' ? 'Approval needed' : `Approval ${card.status}`
  const facts: readonly (readonly [string, string | null])[] = [
    ['Summary', card.summary ?? null],
    ['Access', accessRequestText(card)],
    ['Action', card.action_type],
    ['Target', card.target],
    ['Agent', card.agent],
    ['Risk', card.risk_score.toFixed(2)],
    ['Held by', card.matched_rule],
    [
      'Approvers',
      requiredText(card.required_groups) || card.required_approver_groups.join(', ') || 'any member',
    ],
    [
      event === 'approval.opened' ? 'Expires' : 'Answered by',
      event === 'approval.opened' ? card.expires_at : card.responded_by,
    ],
  ]
  return {
    id: given.id,
    at: given.at,
    event,
    approval: card,
    approvers: given.approvers,
    title: visible(`${state}: ${card.action_type} (${card.agent})`).slice(0, 200),
    facts: facts.flatMap(([label, value]) =>
      value === null ? [] : [[label, visible(value).slice(0, MAX_FACT)] as const],
    ),
    link: cardLink(given.dashboardUrl, card.id),
  }
}

/** Returns a notice that tests a channel. */
export function testNotice(given: NoticeContext): Notice {
  return {
    id: given.id,
    at: given.at,
    event: 'channel.test',
    approval: null,
    approvers: given.approvers,
    title: 'Chaperone test message',
    facts: [['Test', 'This channel announces held requests to approvers.']],
    link: given.dashboardUrl === null ? null : `${base(given.dashboardUrl)}/#/approvals`,
  }
}

function cardLink(dashboardUrl: string | null, id: string): string | null {
  return dashboardUrl === null ? null : `${base(dashboardUrl)}/#/approvals?id=${encodeURIComponent(id)}`
}

function base(url: string): string {
  return url.replace(/\/+$/, '')
}

/** Replaces characters that are invisible, reorder text or break lines, because agents choose these texts. */
function visible(text: string): string {
  return text.replace(
    HIDDEN,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
}

const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\u202f]/gu
