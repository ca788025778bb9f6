import { setTimeout as delay } from 'node:timers/promises'
import * as z from 'zod'
import { requiredText } from '../../../core/decision/policies/required-groups.ts'
import { ApprovalCard } from '../../../core/wire/internal.ts'
import { pinLines } from '../../../core/wire/gateway/pin-lines.ts'
import { usageError } from '../arguments.ts'
import type { ApiClient } from '../client/client.ts'
import { type Command, EXIT, flag, type Invocation, text } from '../command.ts'
import { printable, table } from '../terminal/table.ts'
import { userClient } from '../client/user-client.ts'

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
  summary: 'Shows the requests that wait for a person, and answers them.',
  usage: ['approvals ls [--all]', 'approvals watch', 'approvals approve|deny ID [--note TEXT]'],
  details:
    'A person answers a request once. The request is sent once every required group has approved (MISSING names the others),\nand refused at the first denial. Unanswered ones expire. watch shows complete cards, with headers and body.',
  words: 2,
  options: {
    all: { type: 'boolean', help: 'answered and expired ones too' },
    note: { type: 'string', value: 'TEXT', help: 'kept with the answer in the audit log' },
  },
  examples: [
    ['chaperone approvals ls', 'what waits'],
    ['chaperone approvals approve apv_1f2e --note "checked with Ada"', 'let it go on'],
    ['chaperone approvals deny apv_1f2e', 'refuse it'],
    ['chaperone approvals watch', 'each new one as it comes, until Ctrl-C'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const [verb, id] = invocation.positionals
  const api = userClient(invocation)
  if (verb === undefined || verb === 'ls' || verb === 'list') return await printList(invocation, api)
  if (verb === 'watch') return await watch(invocation, api)
  if (verb !== 'approve' && verb !== 'deny')
    throw usageError(approvals, `approvals ${verb} is none of ls, watch, approve, deny.`)
  if (id === undefined)
    throw usageError(approvals, `Which one? chaperone approvals ${verb} ID (see: chaperone approvals ls).`)
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
  else if (found.length === 0) print('Nothing waits for a person.')
  else
    for (const line of table(
      ['ID', 'STATUS', 'AGENT', 'ACTION', 'TARGET', 'RISK', 'EXPIRES', 'MISSING'],
      found.map(row),
    ))
      print(line)
  return EXIT.ok
}

function row(card: ApprovalCard): unknown[] {
  const { id, status, agent, action_type, target, risk_score, expires_at } = card
  const missing = status === 'pending' ? requiredText(missingSets(card)) : ''
  return [id, status, agent, action_type, target, risk_score, expires_at, missing || null]
}

function missingSets({ required_groups }: ApprovalCard): ApprovalCard['required_groups'] {
  return required_groups.filter(({ answered_by }) => answered_by === null)
}

/** The complete picture that a person answers on; text from agents cannot move the cursor. */
export function cardLines(card: ApprovalCard): string[] {
  const approvers = requiredText(card.required_groups)
  return [
    `${card.id}  ${card.agent} wants ${card.action_type}${card.target === null ? '' : ` on ${card.target}`}`,
    ...(card.method === null ? [] : [`  request     ${card.method} ${card.host ?? ''}${card.path ?? ''}`]),
    ...card.headers.map(({ name, value }) => `  header      ${name}: ${value}`),
    `  parameters  ${JSON.stringify(card.parameters)}`,
    ...bodyLines(card),
    ...pinLines(card).map((line) => `  state       ${line}`),
    `  risk        ${card.risk_score}${card.risk_factors.length > 0 ? ` (${card.risk_factors.join(', ')})` : ''}`,
    ...(card.matched_rule === null ? [] : [`  rule        ${card.matched_rule}`]),
    ...(approvers === '' ? [] : [`  approvers   ${approvers}`]),
    ...answerLines(card),
    ...(card.requested_by_agent_text === null
      ? []
      : [`  the agent says (unchecked): "${card.requested_by_agent_text}"`]),
    ...(card.left_at
      ? [`  agent       left at ${card.left_at}; a yes counts if it sends the request again`]
      : []),
    `  expires     ${card.expires_at}`,
  ].map(printable)
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
  return `${id} is still pending: ${answered} counted, other groups have to answer as well.`
}

/** Who has answered, and what is missing. */
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
  warn('Waiting for requests that need a person; Ctrl-C ends.')
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
