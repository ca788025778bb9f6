import { setTimeout as delay } from 'node:timers/promises'
import { ChaperoneError } from '../../../core/errors.ts'
import type { ApprovalCard } from '../../../core/wire/internal.ts'
import type { ApiClient } from '../client/client.ts'
import { cardLines, pendingApprovals, respond } from '../commands/approvals.ts'
import { DEMO_CREDENTIAL } from './manifests.ts'
import type { MockCodeHost } from './mock-code-host.ts'
import { type AgentResponse, runAgent } from './run-agent.ts'
import { promptYesNo } from './yes-no-prompt.ts'

export type Stage = {
  readonly api: ApiClient
  readonly standIn: MockCodeHost
  readonly agentEnv: NodeJS.ProcessEnv
  /** Approve without asking. */
  readonly isYes: boolean
  readonly isInteractive: boolean
  readonly approvalLink: string
  /** What answers from another terminal, up to the id. */
  readonly approveCommand: string
  readonly say: (line: string) => void
}

/** The whole story; every claim is checked, and a claim that does not hold is an error. */
export async function runScenario(stage: Stage): Promise<void> {
  await allowed(stage)
  await held(stage)
  await denied(stage)
  await stopped(stage)
}

async function allowed({ say, agentEnv, standIn }: Stage): Promise<void> {
  say('\n1. The agent creates an issue. A rule allows it.')
  const answer = await runAgent('issue', agentEnv)
  claim(answer.status === 201, 'the issue was created', answer)
  const seen = standIn.seen.at(-1)
  claim(
    seen?.authorization?.includes(DEMO_CREDENTIAL) === true,
    'the gateway put the real credential in',
    answer,
  )
  say(
    `   ${answer.status}: issue ${answer.body?.['number']}. The agent's own key was a placeholder; the code host saw the real one.`,
  )
}

async function held(stage: Stage): Promise<void> {
  const { say, agentEnv, api, standIn } = stage
  say('\n2. The agent merges a pull request. A rule wants a person to look: the request waits.')
  const before = standIn.seen.length
  const done = new AbortController()
  const answering = runAgent('merge', agentEnv).finally(() => done.abort())
  const card = await firstPending(api, done.signal)
  claim(standIn.seen.length === before, 'nothing was sent while it waits')
  for (const line of cardLines(card)) say(`   ${line}`)
  const approved = await decide(stage, card.id, done.signal)
  if (approved !== null) await respond(api, card.id, approved, 'answered in the demo')
  const answer = await answering
  if (answer.status === 200) say('   200: merged. The very request that was approved went on, once.')
  else say(`   ${answer.status}: ${String(answer.body?.['error'])}. Nothing was sent.`)
  claim(approved !== true || answer.status === 200, 'an approved merge goes on', answer)
  claim(approved !== false || standIn.seen.length === before, 'a refused merge is never sent', answer)
}

async function decide(
  { isYes, isInteractive, approvalLink, approveCommand, say }: Stage,
  id: string,
  signal: AbortSignal,
): Promise<boolean | null> {
  if (isYes) {
    say('   --yes: approved.')
    return true
  }
  say(`   Answer in the dashboard: ${approvalLink}`)
  if (isInteractive) return await promptYesNo('   or here: let it merge? [y/n] ', signal)
  say(`   or from another terminal: ${approveCommand} ${id}`)
  return null
}

async function denied({ say, agentEnv, standIn }: Stage): Promise<void> {
  say('\n3. The agent deletes the main branch. A rule forbids it, whoever would approve.')
  const before = standIn.seen.length
  const answer = await runAgent('branch', agentEnv)
  claim(answer.status === 403, 'deleting a branch is refused', answer)
  claim(standIn.seen.length === before, 'a refused request is never sent', answer)
  say(`   403: ${String(answer.body?.['message'] ?? answer.body?.['error'])}`)
}

async function stopped({ say, agentEnv, api, standIn }: Stage): Promise<void> {
  say('\n4. Somebody pulls the kill switch. Now even the allowed thing is refused.')
  const before = standIn.seen.length
  const body = { active: true, scope: 'all', reason: 'end of the demo' }
  const state = await api.call<{ acknowledged?: { acked: number; total: number; ms: number } }>(
    'POST',
    '/api/dashboard/kill-switch',
    body,
  )
  if (state.acknowledged !== undefined) {
    const { acked, total, ms } = state.acknowledged
    say(`   ${acked} of ${total} stopped in ${ms} ms.`)
  }
  const answer = await runAgent('issue', agentEnv)
  claim(answer.status === 403, 'the kill switch refuses', answer)
  claim(standIn.seen.length === before, 'a stopped request is never sent', answer)
  say(`   403: ${String(answer.body?.['error'])}`)
}

async function firstPending(api: ApiClient, ended: AbortSignal): Promise<ApprovalCard> {
  for (;;) {
    const [card] = await pendingApprovals(api)
    if (card !== undefined) return card
    claim(!ended.aborted, 'the merge waits for a person')
    await delay(50)
  }
}

function claim(holds: boolean, what: string, answer?: AgentResponse): void {
  if (holds) return
  const got =
    answer === undefined ? '' : ` The agent was answered ${answer.status} ${JSON.stringify(answer.body)}.`
  throw new ChaperoneError('conflict', { detail: `The demo expected that ${what}, and it did not.${got}` })
}
