import * as z from 'zod'
import { effectsText } from '../../../core/action/effects-text.ts'
import { requiredText } from '../../../core/decision/policies/required-groups.ts'
import type { AnswerReply, ApprovalList } from '../../../core/wire/approvals.ts'
import { WithdrawReply } from '../../../core/wire/approvals.ts'
import { accessRequestText } from '../../../core/wire/gateway/access-request-text.ts'
import { instanceText } from '../../../core/wire/gateway/instance.ts'
import { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import { pinLines } from '../../../core/wire/gateway/pin-lines.ts'
import type { GrantBody } from '../../../core/wire/grants.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { verbOf } from '../arguments.ts'
import type { ApiClient } from '../client/client.ts'
import { replyFields } from '../client/reply-fields.ts'
import { userClient } from '../client/user-client.ts'
import { type Command, EXIT, flag, type Invocation, text } from '../command.ts'
import { printable, table } from '../terminal/table.ts'
import { grantOf, grantSentence, printGrants, revokeGrant } from './approvals-grants.ts'

const PATH = '/api/dashboard/proxy-approvals'
export const PENDING_PATH = `${PATH}?status=pending`
export const Cards = replyFields<ApprovalList>()(z.object({ approvals: z.array(ApprovalCard) }))
const Answered = replyFields<AnswerReply>()(
  z.looseObject({
    id: z.string(),
    status: z.string(),
    answered_groups: z.array(z.string()).optional(),
    grant_id: z.string().optional(),
    access_request: z.boolean().optional(),
  }),
)

export const approvals: Command = {
  name: 'approvals',
  summary: 'List pending approvals, and approve or deny them',
  usage: [
    'approvals ls [--all]',
    'approvals watch',
    'approvals approve|deny ID [--note TEXT]',
    'approvals approve ID --for 15m|1h|today [--uses N] [--any-target] [--parameter NAME]...',
    'approvals withdraw ID',
    'approvals grants',
    'approvals revoke GRANT',
  ],
  details:
    'Each approver answers a request once. The request is sent when every required group has approved (MISSING lists the rest),\nand refused at the first denial. Pending approvals expire. withdraw takes back an approval that no gateway has used yet.\nwatch prints complete cards with headers and body.\nWith --for, approve also makes a grant: it approves later requests of the agent with the same action, if they\nare held by the same rules. grants lists the grants, and revoke ends one.',
  maxArguments: 2,
  options: {
    all: { type: 'boolean', help: 'include answered and expired approvals' },
    note: { type: 'string', value: 'TEXT', help: 'note for the audit log' },
    for: {
      type: 'string',
      value: 'TIME',
      help: 'also approve later requests, for 15m, 1h or until midnight UTC (today)',
    },
    uses: {
      type: 'string',
      value: 'N',
      help: 'later requests that the grant approves (default 10, at most 100)',
    },
    'any-target': {
      type: 'boolean',
      help: 'approve later requests on any target, not only on that of the request',
    },
    parameter: {
      type: 'string',
      value: 'NAME',
      multiple: true,
      help: 'parameter that must have the same value in later requests; repeat for several',
    },
  },
  examples: [
    ['chaperone approvals ls', 'list pending approvals'],
    ['chaperone approvals approve apv_1f2e --note "checked with Ada"', 'send the held request'],
    ['chaperone approvals deny apv_1f2e', 'refuse the held request'],
    ['chaperone approvals withdraw apv_1f2e', 'take back an approval before it is used'],
    [
      'chaperone approvals approve apv_1f2e --for 1h --uses 5',
      'approve it, and five later requests like it within an hour',
    ],
    ['chaperone approvals watch', 'print each new approval until Ctrl-C'],
  ],
  run,
}

/** Verbs, each with the placeholder of its argument; null for a verb without an argument. */
const VERBS = {
  ls: null,
  watch: null,
  approve: 'ID',
  deny: 'ID',
  withdraw: 'ID',
  grants: null,
  revoke: 'GRANT',
} as const

async function run(invocation: Invocation): Promise<number> {
  const { verb, argument: id } = verbOf(approvals, invocation.positionals, VERBS, 'ls')
  const grant = grantOf(approvals, invocation, verb)
  const api = userClient(invocation)
  if (verb === 'ls') return await printList(invocation, api)
  if (verb === 'watch') return await watch(invocation, api)
  if (verb === 'grants') return await printGrants(invocation, api)
  if (verb === 'withdraw') return await withdraw(invocation, api, id)
  if (verb === 'revoke') return await revokeGrant(invocation, api, id)
  const note = text(invocation, 'note')
  const answered = Answered.parse(await respond(api, id, { approved: verb === 'approve', note, grant }))
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify(answered))
  else {
    print(answerLine(answered))
    if (answered.grant_id !== undefined) print(await grantSentence(api, answered.grant_id))
  }
  return EXIT.ok
}

async function withdraw(invocation: Invocation, api: ApiClient, id: string): Promise<number> {
  const reply = WithdrawReply.parse(await api.call('DELETE', `${PATH}?id=${encodeURIComponent(id)}`))
  const line =
    reply.status === 'pending'
      ? `Your answer is withdrawn. ${id} is pending, and needs an answer again.`
      : `${id} is ${reply.status}. The approval no longer lets a request pass.`
  invocation.terminal.print(flag(invocation, 'json') ? JSON.stringify(reply) : line)
  return EXIT.ok
}

export async function pendingApprovals(api: ApiClient): Promise<readonly ApprovalCard[]> {
  return Cards.parse(await api.call('GET', PENDING_PATH)).approvals
}

export function respond(
  api: ApiClient,
  id: string,
  answer: {
    readonly approved: boolean
    readonly note?: string | undefined
    readonly grant?: GrantBody | undefined
  },
): Promise<unknown> {
  const { approved, note, grant } = answer
  const stated = { ...(note === undefined ? {} : { note }), ...(grant === undefined ? {} : { grant }) }
  return api.call('POST', PATH, { id, approved, ...stated })
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

function effectLines(card: ApprovalCard): string[] {
  const effects = effectsText(card)
  return [
    ...(card.effect === undefined ? [] : [`  effect      ${card.effect}`]),
    ...(effects === null ? [] : [`  effects     ${effects}`]),
  ]
}

/** Returns the card of a held action as lines of text. Escapes control characters in texts from agents. */
export function cardLines(card: ApprovalCard): string[] {
  const approvers = requiredText(card.required_groups)
  return [
    `${card.id}  ${card.agent} requests ${card.action_type}${card.target === null ? '' : ` on ${card.target}`}`,
    ...accessLines(card),
    ...instanceLines(card),
    ...(card.method === null ? [] : [`  request     ${card.method} ${card.host ?? ''}${card.path ?? ''}`]),
    ...card.headers.map(({ name, value }) => `  header      ${name}: ${value}`),
    ...effectLines(card),
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

function accessLines(card: ApprovalCard): string[] {
  const text = accessRequestText(card)
  return text === null ? [] : [`  access      ${text}`]
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

const NOTHING_GRANTED =
  'No request waited for this approval, so the gateway sent nothing, and the agent has no more access than before. To give the agent access, approve its next access request with --for, or add a permission.'

function answerLine(reply: z.infer<typeof Answered>): string {
  const { id, status, answered_groups, grant_id, access_request: isAccess } = reply
  if (status === 'approved' && isAccess === true && grant_id === undefined)
    return `${id} is ${status}. ${NOTHING_GRANTED}`
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
    await sleep(500)
  }
}

function watchLines(card: ApprovalCard): string[] {
  return [...cardLines(card), `  answer      chaperone approvals approve ${card.id}   (or deny)`]
}
