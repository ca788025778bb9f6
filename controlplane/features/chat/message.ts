import { effectsText } from '../../../core/action/effects-text.ts'
import { requiredText } from '../../../core/decision/policies/required-groups.ts'
import { accessRequestText } from '../../../core/wire/gateway/access-request-text.ts'
import type { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import { pinLines } from '../../../core/wire/gateway/pin-lines.ts'
import { escaped } from '../../chat-markup.ts'

export type ChatMessage = {
  /** Plain text for notifications and screen readers. */
  readonly text: string
  readonly blocks: readonly Readonly<Record<string, unknown>>[]
}

export const APPROVE = 'approve'
export const DENY = 'deny'

/**
 * Maximum number of characters of one fact in a message. The provider rejects longer messages. A card with shortened
 * content has no approve button.
 */
const MAX_FACT = 1_500
const MAX_PARAMETERS = 6_000
const MAX_HEADERS = 3_000
const MAX_AGENT_TEXT = 1_500

export type CardOptions = {
  readonly dashboardUrl: string | null
  /** Value of the buttons. The value is random for each posting, so that no other message contains it. */
  readonly nonce: string
}

/**
 * Returns the approval card as a chat message. All content is literal text: the provider applies no formatting, links
 * or mentions. A card with shortened content has no approve button.
 */
export function approvalMessage(card: ApprovalCard, options: CardOptions): ChatMessage {
  const facts = factsOf(card)
  const parameters = visible(JSON.stringify(card.parameters, null, 2), true)
  const headers = headerLines(card)
  const isWhole =
    parameters.length <= MAX_PARAMETERS &&
    headers.length <= MAX_HEADERS &&
    facts.every(([, value]) => value.length <= MAX_FACT)
  const title = `${card.status === 'pending' ? 'Approval needed' : outcomeWord(card)}: ${card.action_type}`
  return {
    text: escaped(visible(`${title} (${card.agent})`)).slice(0, 300),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: visible(title).slice(0, 150), emoji: false } },
      literal(facts.map(([name, value]) => `${name.padEnd(11)}${cut(value, MAX_FACT)}`).join('\n')),
      label('Parameters'),
      literal(cut(parameters, MAX_PARAMETERS)),
      ...(headers === '' ? [] : [label('Headers'), literal(cut(headers, MAX_HEADERS))]),
      ...unreadBody(card.unread_body),
      ...agentText(card.requested_by_agent_text),
      ...(card.status === 'pending' ? buttons(isWhole, options) : [label(outcome(card))]),
    ],
  }
}

function factsOf(card: ApprovalCard): readonly (readonly [string, string])[] {
  const request =
    card.method === null ? null : `${card.method} ${card.host ?? ''}${card.path ?? ''}`.trimEnd()
  const risk = [card.risk_score.toFixed(2), ...card.risk_factors].join(', ')
  const facts: readonly (readonly [string, string | null])[] = [
    ['Access', accessRequestText(card)],
    ['Action', card.action_type],
    ['Effect', card.effect ?? null],
    ['Effects', effectsText(card)],
    ['Target', card.target],
    ['Request', request],
    ['State', pinLines(card).join('; ')],
    ['Agent', card.agent],
    ['Risk', risk],
    ['Rule', card.matched_rule],
    [
      'Approvers',
      requiredText(card.required_groups) || card.required_approver_groups.join(', ') || 'any member',
    ],
    ['Answered', card.status === 'pending' ? answersText(card) : null],
    ['Body', card.body_sha256 === null ? null : `SHA-256 ${card.body_sha256}`],
    ['Expires', card.expires_at],
    ['Approval', card.id],
  ]
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, visible(value)] as const]))
}

/** Formats each header field on a line of its own, so that a value cannot imitate another field. */
function headerLines({ headers }: ApprovalCard): string {
  return headers.map(({ name, value }) => visible(`${name}: ${value}`)).join('\n')
}

function unreadBody(body: ApprovalCard['unread_body']) {
  if (body === null) return []
  return [label(visible(body.description)), ...(body.excerpt === null ? [] : [quote(body.excerpt)])]
}

function answersText({ answers }: ApprovalCard): string | null {
  if (answers.length === 0) return null
  return answers
    .map(({ by, groups }) => `${by}${groups.length === 0 ? '' : ` for ${groups.join(', ')}`}`)
    .join('; ')
}

function agentText(text: string | null) {
  if (text === null || text.trim() === '') return []
  return [label('Text of the agent (not verified)'), quote(text)]
}

function quote(text: string) {
  const elements = [{ type: 'text', text: cut(visible(text, true), MAX_AGENT_TEXT) }]
  return { type: 'rich_text', elements: [{ type: 'rich_text_quote', elements }] }
}

function buttons(isWhole: boolean, { dashboardUrl, nonce }: CardOptions) {
  const button = (id: string, text: string, style: string) => ({
    type: 'button',
    action_id: id,
    value: nonce,
    style,
    text: { type: 'plain_text', text, emoji: false },
  })
  const approve = isWhole ? [button(APPROVE, 'Approve', 'primary')] : []
  const where = dashboardUrl === null ? 'in the dashboard' : `in the dashboard, ${dashboardUrl}`
  const hint = `The request is too long for this card. Read and approve it ${where}, or with chaperone approvals.`
  return [
    ...(isWhole ? [] : [label(hint)]),
    { type: 'actions', elements: [...approve, button(DENY, 'Deny', 'danger')] },
  ]
}

function outcome(card: ApprovalCard): string {
  const claimed = card.responded_via === 'internal' ? ' (claimed through the internal API)' : ''
  const by = card.responded_by === null ? '' : ` by ${card.responded_by}${claimed}`
  const note = card.note === null || card.note === '' ? '' : `: ${card.note}`
  return cut(visible(`${outcomeWord(card)}${by}${note}`), MAX_FACT)
}

function outcomeWord({ status }: ApprovalCard): string {
  return status.charAt(0).toUpperCase() + status.slice(1)
}

function literal(text: string) {
  const elements = [{ type: 'text', text: text === '' ? ' ' : text }]
  return { type: 'rich_text', elements: [{ type: 'rich_text_preformatted', elements }] }
}

function label(text: string) {
  const elements = [{ type: 'text', text, style: { bold: true } }]
  return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] }
}

function cut(text: string, length: number): string {
  if (text.length <= length) return text
  return `${text.slice(0, length).replace(/[\ud800-\udbff]$/, '')}… (${text.length - length} more characters)`
}

/**
 * Replaces characters that are invisible, reorder text or break lines. Writes their code points instead, so that an
 * agent cannot disguise the content of a card.
 */
function visible(text: string, keepsLines = false): string {
  return text.replace(HIDDEN, (character) =>
    keepsLines && character === '\n'
      ? character
      : `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
}

const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\u202f]/gu
