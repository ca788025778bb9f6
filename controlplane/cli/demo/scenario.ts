import { ChaperoneError } from '../../../core/errors.ts'
import type { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import { sleep } from '../../../runtime/sleep.ts'
import type { ApiClient } from '../client/client.ts'
import { cardLines, pendingApprovals, respond } from '../commands/approvals.ts'
import { DEMO_CREDENTIAL } from './manifests.ts'
import type { MockCodeHost } from './mock-code-host.ts'
import { type AgentResponse, runAgent } from './run-agent.ts'
import { promptYesNo } from './yes-no-prompt.ts'

export type ScenarioContext = {
  readonly api: ApiClient
  readonly mock: MockCodeHost
  readonly agentEnv: NodeJS.ProcessEnv
  /** True when the demo approves the held action without a prompt (option `--yes`). */
  readonly isYes: boolean
  readonly isInteractive: boolean
  readonly approvalLink: string
  /** Command line that approves a held action from another terminal. The demo appends the approval id. */
  readonly approveCommand: string
  readonly print: (line: string) => void
}

/** Runs the steps of the demo. Rejects when a response differs from the expected one. */
export async function runScenario(context: ScenarioContext): Promise<void> {
  await allowed(context)
  await held(context)
  await denied(context)
  await stopped(context)
}

async function allowed({ print, agentEnv, mock }: ScenarioContext): Promise<void> {
  print('\n1. The agent creates an issue. A rule allows the request.')
  const answer = await runAgent('issue', agentEnv)
  expect(answer.status === 201, 'the issue would be created', answer)
  const received = mock.received.at(-1)
  expect(
    received?.authorization?.includes(DEMO_CREDENTIAL) === true,
    'the gateway would add the real credential',
    answer,
  )
  print(
    `   ${answer.status}: issue ${answer.body?.['number']}. The agent sent a placeholder key; the code host received the real one.`,
  )
}

async function held(context: ScenarioContext): Promise<void> {
  const { print, agentEnv, api, mock } = context
  print('\n2. The agent merges a pull request. A rule requires an approval, so the request is held.')
  const before = mock.received.length
  const done = new AbortController()
  const answering = runAgent('merge', agentEnv).finally(() => done.abort())
  const card = await firstPending(api, done.signal)
  expect(mock.received.length === before, 'nothing would be sent while the request is held')
  for (const line of cardLines(card)) print(`   ${line}`)
  const approved = await decide(context, card.id, done.signal)
  if (approved !== null) await respond(api, card.id, { approved, note: 'answered in the demo' })
  const answer = await answering
  if (answer.status === 200) print('   200: merged. The approved request was sent once.')
  else print(`   ${answer.status}: ${String(answer.body?.['error'])}. Nothing was sent.`)
  expect(approved !== true || answer.status === 200, 'an approved merge would be sent', answer)
  expect(approved !== false || mock.received.length === before, 'a denied merge would not be sent', answer)
}

async function decide(
  { isYes, isInteractive, approvalLink, approveCommand, print }: ScenarioContext,
  id: string,
  signal: AbortSignal,
): Promise<boolean | null> {
  if (isYes) {
    print('   --yes: approved.')
    return true
  }
  print(`   Answer in the dashboard: ${approvalLink}`)
  if (isInteractive) return await promptYesNo('   or here: approve the merge? [y/n] ', signal)
  print(`   or from another terminal: ${approveCommand} ${id}`)
  return null
}

async function denied({ print, agentEnv, mock }: ScenarioContext): Promise<void> {
  print('\n3. The agent deletes the main branch. A rule denies the request; it cannot be approved.')
  const before = mock.received.length
  const answer = await runAgent('branch', agentEnv)
  expect(answer.status === 403, 'deleting a branch would be refused', answer)
  expect(mock.received.length === before, 'a refused request would not be sent', answer)
  print(`   403: ${String(answer.body?.['message'] ?? answer.body?.['error'])}`)
}

async function stopped({ print, agentEnv, api, mock }: ScenarioContext): Promise<void> {
  print('\n4. A user activates the kill switch. Allowed requests are refused too.')
  const before = mock.received.length
  const body = { active: true, scope: 'all', reason: 'end of the demo' }
  const state = await api.call<{ acknowledged?: { acked: number; total: number; ms: number } }>(
    'POST',
    '/api/dashboard/kill-switch',
    body,
  )
  if (state.acknowledged !== undefined) {
    const { acked, total, ms } = state.acknowledged
    print(`   ${acked} of ${total} ${total === 1 ? 'gateway' : 'gateways'} acknowledged in ${ms} ms.`)
  }
  const answer = await runAgent('issue', agentEnv)
  expect(answer.status === 403, 'the kill switch would refuse the request', answer)
  expect(mock.received.length === before, 'a request refused by the kill switch would not be sent', answer)
  print(`   403: ${String(answer.body?.['error'])}`)
}

async function firstPending(api: ApiClient, ended: AbortSignal): Promise<ApprovalCard> {
  for (;;) {
    const [card] = await pendingApprovals(api)
    if (card !== undefined) return card
    expect(!ended.aborted, 'the merge would be held')
    await sleep(50)
  }
}

function expect(holds: boolean, what: string, answer?: AgentResponse): void {
  if (holds) return
  const got =
    answer === undefined ? '' : ` The agent received ${answer.status} ${JSON.stringify(answer.body)}.`
  throw new ChaperoneError('conflict', {
    detail: `The demo expected that ${what}, which did not happen.${got}`,
  })
}
