import type { HostedWorkReport } from '../../../core/wire/gateway/hosted-work.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import { createCancelSender } from '../../../sidecar/control/hosted-work/cancel-exchange.ts'
import {
  type Cancellations,
  createCancellations,
} from '../../../sidecar/control/hosted-work/cancellations.ts'
import { eventually } from '../../support/eventually.ts'
import type { Answer } from '../../support/recorder.ts'
import { JSON_BODY } from '../pipeline/pipeline-world.ts'
import { type Rules, startWorld, type World } from '../pipeline/test-world.ts'

type Stopping = {
  readonly world: World
  readonly cancellations: Cancellations
  stop(entry?: Partial<KillEntry>): void
  settled(): Promise<HostedWorkReport>
}

const open: World[] = []

/** Ends the worlds that the test started. */
export async function endWorlds(): Promise<void> {
  for (const world of open.splice(0)) await world[Symbol.asyncDispose]()
}

export const RULES: Rules = {
  agents: [
    { id: 'agent_a', name: 'a' },
    { id: 'agent_b', name: 'b' },
  ],
  connectors: [
    { type: 'llm_a', name: 'openai' },
    { type: 'llm_b', name: 'anthropic' },
    { type: 'llm_c', name: 'gemini' },
    { type: 'chat', name: 'slack' },
  ],
  permissions: ['llm_a.*', 'llm_b.*', 'llm_c.*', 'chat.*'].map((name) => [name, 'allow'] as const),
}

/** A gateway of which the agents may start work at providers, and its cancellations. */
export async function start({ mayCancelBatches = false, rules = RULES } = {}): Promise<Stopping> {
  const world = await startWorld(rules)
  open.push(world)
  const cancellations = createCancellations({
    work: world.hostedWork,
    match: world.ports.kill.match,
    mayCancelBatches: () => mayCancelBatches,
    send: createCancelSender({ ports: world.ports, handle: world.run }),
    clock: world.ports.clock,
    onChange: () => undefined,
    pauseMs: () => 1,
  })
  return {
    ...{ world, cancellations },
    stop(entry = {}) {
      const stop = { scope: 'all', source: 'api', reason: 'x', since: '2026-01-01T00:00:00.000Z', ...entry }
      world.state.kill = [stop]
      cancellations.begin()
    },
    settled: () =>
      eventually('every cancellation has a result', () => {
        const report = cancellations.report()
        return report.pending === 0 ? report : null
      }),
  }
}

/** Answers with JSON. */
export const json =
  (value: object, status = 200): Answer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  }

/** Answers with a stream of one event. */
export const events =
  (value: object, isOpen: boolean): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`event: x\ndata: ${JSON.stringify(value)}\n\n`)
    if (!isOpen) response.end('data: [DONE]\n\n')
  }

export const HOSTS = {
  a: 'api.openai.com',
  b: 'api.anthropic.com',
  c: 'generativelanguage.googleapis.com',
  chat: 'slack.com',
}

export type Ask = {
  readonly at: keyof typeof HOSTS
  readonly method?: string
  readonly path: string
  readonly body?: object
  readonly headers?: readonly string[]
}

/** The request of an agent. */
export function asked(agent: string, { at, method = 'POST', path, body, headers = [] }: Ask) {
  return {
    ...{ method, host: HOSTS[at], target: path, credentials: { kind: 'port', agent } as const },
    headers: body === undefined ? headers : [...JSON_BODY, ...headers],
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
}

export const MODEL = { model: 'm', input: 'x' }
export const BACKGROUND: Ask = { at: 'a', path: '/v1/responses', body: { ...MODEL, background: true } }

export type Row = readonly [what: string, request: Ask, answer: Answer, cancel: string, body?: object]

export const SCHEDULED: Row = [
  'a scheduled message',
  { at: 'chat', path: '/api/chat.scheduleMessage', body: { channel: 'C1', text: 'x', post_at: 1 } },
  json({ ok: true, scheduled_message_id: 'Q1', channel: 'C1', post_at: 1 }),
  'POST /api/chat.deleteScheduledMessage',
  { channel: 'C1', scheduled_message_id: 'Q1' },
]
