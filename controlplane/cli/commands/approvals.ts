import { setTimeout as delay } from 'node:timers/promises'
import * as z from 'zod'
import { effectsText } from '../../../core/action/effects-text.ts'
import { requiredText } from '../../../core/decision/policies/required-groups.ts'
import { instanceText } from '../../../core/wire/gateway/instance.ts'
import { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import { pinLines } from '../../../core/wire/gateway/pin-lines.ts'
import { usageError } from '../arguments.ts'
import type { ApiClient } from '../client/client.ts'
import { userClient } from '../client/user-client.ts'
import { type Command, EXIT, flag, type Invocation, text } from '../command.ts'
import { printable, table } from '../terminal/table.ts'

const PATH = '/api/dashboard/proxy-approvals'
export const PENDING_PATH = `${PATH}?status=pending`
export const Cards = z.object({ approvals: z.array(ApprovalCard) })
const Answered = z.looseObject({
  id: z.string(),
  status: z.string(),
  answered_groups: z.array(z.string()).optional(),
})

export const approvals: Command = {
  name: 'approvals',
  summary: 'List pending approvals, and approve or deny them',
  usage: ['approvals ls [--all]', 'approvals watch', 'approvals approve|deny ID [--note TEXT]'],
  details:
    'Each approver answers a request once. The request is sent when every required group has approved (MISSING lists the rest),\nand refused at the first denial. Pending approvals expire. watch prints complete cards with headers and body.',
  maxArguments: 2,
  options: {
    all: { type: 'boolean', help: 'include answered and expired approvals' },
    note: { type: 'string', value: 'TEXT', help: 'note for the audit log' },
  },
  examples: [
    ['chaperone approvals ls', 'list pending approvals'],
    ['chaperone approvals approve apv_1f2e --note "checked with Ada"', 'send the held request'],
    ['chaperone approvals deny apv_1f2e', 'refuse the held request'],
    ['chaperone approvals watch', 'print each new approval until Ctrl-C'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const [verb, id] = invocation.positionals
  const api = userClient(invocation)
  if (verb === undefined || verb === 'ls' || verb === 'list') return await printList(invocation, api)
  if (verb === 'watch') return await watch(invocation, api)
  if (verb !== 'approve' && verb !== 'deny')
    throw usageError(approvals, `approvals ${verb} is not one of ls, watch, approve, deny.`)
  if (id === undefined)
    throw usageError(
      approvals,
      `Give the id of an approval: chaperone approvals ${verb} ID (chaperone approvals ls lists the ids).`,
    )
  const note = text(invocation, 'note')
  const answer = Answered.parse(await respond(api, id, verb === 'approve', note))
  invocation.terminal.print(flag(invocation, 'json') ? JSON.stringify(answer) : answerLine(answer))
  return EXIT.ok
}

export async function pendingApprovals(api: ApiClient): Promise<readonly ApprovalCard[]> {
  return Cards.parse(await api.call('GET', PENDING_PATH)).approvals
}

export function respond(api: ApiClient, id: string, approved: boolean, note?: string): Promise<unknown> {
  return api.call('POST', PATH, { id, approved, ...(note === undefined ? {} : { note }) })
}

async function printList(invocation: Invocation, api: ApiClient): Promise<number> {
  const isAll = flag(invocation, 'all')
  const found = isAll ? Cards.parse(await api.call('GET', PATH)).approvals : await pendingApprovals(api)
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify({ approvals: found }))
  else if (found.length === 0) print(isAll ? 'No approvals.' : 'No pending approvals.')
  else
    for (const line of table(
      ['ID', 'STATUS', 'AGENT', 'ACTION', 'TARGET', 'RISK', 'EXPIRES', 'MISSING'],
      found.map(row),
    ))
      print(line)
  return EXIT.ok
}

function row(card: ApprovalCard): unknown[] {
  const { id, status, agent, instance, action_type, target, risk_score, expires_at } = card
  const missing = status === 'pending' ? requiredText(missingSets(card)) : ''
  const who = instance === undefined ? agent : `${agent} (${instanceText(instance)})`
  return [id, status, who, action_type, target, risk_score, expires_at, missing || null]
}

function missingSets({ required_groups }: ApprovalCard): ApprovalCard['required_groups'] {
  return required_groups.filter(({ answered_by }) => answered_by === null)
}

/** Returns the card of a held action as lines of text. Escapes control characters in texts from agents. */
export function cardLines(card: ApprovalCard): string[] {
  const approvers = requiredText(card.required_groups)
  return [
    `${card.id}  ${card.agent} requests ${card.action_type}${card.target === null ? '' : ` on ${card.target}`}`,
    ...instanceLines(card),
    ...(card.method === null ? [] : [`  request     ${card.method} ${card.host ?? ''}${card.path ?? ''}`]),
    ...card.headers.map(({ name, value }) => `  header      ${name}: ${value}`),
    ...(effectsText(card) === null ? [] : [`  effects     ${effectsText(card)}`]),
    `  parameters  ${JSON.stringify(card.parameters)}`,
    ...bodyLines(card),
    ...pinLines(card).map((line) => `  state       ${line}`),
    `  risk        ${card.risk_score}${card.risk_factors.length > 0 ? ` (${card.risk_factors.join(', ')})` : ''}`,
    ...(card.matched_rule === null ? [] : [`  rule        ${card.matched_rule}`]),
    ...(approvers === '' ? [] : [`  approvers   ${approvers}`]),
    ...answerLines(card),
    ...(card.requested_by_agent_text === null
      ? []
      : [`  text of the agent (not verified): "${card.requested_by_agent_text}"`]),
    ...(card.left_at
      ? [
          `  agent       disconnected at ${card.left_at}; an approval applies if the agent retries the request`,
        ]
      : []),
    `  expires     ${card.expires_at}`,
  ].map(printable)
}

function instanceLines({ instance }: ApprovalCard): string[] {
  return instance === undefined ? [] : [`  instance    ${instanceText(instance)}`]
}

function bodyLines({ unread_body, body_sha256 }: ApprovalCard): string[] {
  if (unread_body === null) return body_sha256 === null ? [] : [`  body        SHA-256 ${body_sha256}`]
  const { description, excerpt } = unread_body
  return [
    `  body        ${description}`,
    ...(excerpt === null ? [] : [`  begins with ${JSON.stringify(excerpt)}`]),
  ]
}

function answerLine({ id, status, answered_groups }: z.infer<typeof Answered>): string {
  if (status !== 'pending') return `${id} is ${status}.`
  const answered = answered_groups?.join(', ') || 'your answer'
  return `${id} is still pending: ${answered} was counted, and other groups must approve too.`
}

/** Returns lines with the answers so far, and with the required approver groups that have not approved. */
function answerLines(card: ApprovalCard): string[] {
  const { answers } = card
  if (answers.length === 0) return []
  const missing = missingSets(card)
  const answered = answers.map(
    ({ by, approved, at }) => `${approved ? 'approved' : 'denied'} by ${by} at ${at}`,
  )
  return [
    ...answered.map((text) => `  answered    ${text}`),
    ...(missing.length === 0 ? [] : [`  missing     ${requiredText(missing)}`]),
  ]
}

async function watch(invocation: Invocation, api: ApiClient): Promise<never> {
  const { print, warn } = invocation.terminal
  const seen = new Set<string>()
  warn('Waiting for pending approvals. Press Ctrl-C to end.')
  const asJson = flag(invocation, 'json')
  for (;;) {
    const fresh = (await pendingApprovals(api)).filter((card) => !seen.has(card.id))
    for (const card of fresh) {
      seen.add(card.id)
      for (const line of asJson ? [JSON.stringify(card)] : watchLines(card)) print(line)
    }
    await delay(500)
  }
}

function watchLines(card: ApprovalCard): string[] {
  return [...cardLines(card), `  answer      chaperone approvals approve ${card.id}   (or deny)`]
}
