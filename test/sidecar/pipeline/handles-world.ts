import { expect } from 'vitest'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import type { Answer } from '../../support/recorder.ts'
import { JSON_BODY } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules, World } from './test-world.ts'

const AGENTS = [
  { id: 'agent_a', name: 'a' },
  { id: 'agent_b', name: 'b' },
]

export function rules(over: Partial<ConnectorEntry> = {}, gateway: Rules['gateway'] = {}): Rules {
  return {
    agents: AGENTS,
    connectors: [
      { type: 'llm_a', name: 'openai', ...over },
      { type: 'llm_b', name: 'anthropic', ...over },
      { type: 'llm_c', name: 'gemini', ...over },
      { type: 'mcp', name: 'tools', domains: ['mcp.example'], ...over },
      { type: 'mcp', name: 'others', domains: ['other.example'], ...over },
    ],
    permissions: ['llm_a.*', 'llm_b.*', 'llm_c.*', 'mcp.*', 'llm_a.file.*'].map((name) => [name, 'allow']),
    gateway: { egress: { unmatchedHosts: 'tunnel', allowedHosts: [], tcp: [] }, ...gateway },
  }
}

const HOSTS = {
  a: 'api.openai.com',
  b: 'api.anthropic.com',
  c: 'generativelanguage.googleapis.com',
  mcp: 'mcp.example',
  other: 'other.example',
}

export type Ask = {
  readonly at: keyof typeof HOSTS
  readonly method?: string
  readonly path: string
  readonly body?: object
  readonly headers?: readonly string[]
}

export function asked(
  agent: string,
  { at, method = 'POST', path, body, headers = [] }: Ask,
): TestExchangeInput {
  return {
    ...{ method, host: HOSTS[at], target: path, credentials: { kind: 'port', agent } },
    headers: body === undefined ? headers : [...JSON_BODY, ...headers],
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
}

export const json =
  (value: object, headers: Record<string, string> = {}): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(value))
  }

export const events =
  (...values: readonly object[]): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const lines = values.map((value) => `event: x\ndata: ${JSON.stringify(value)}\n\n`)
    response.end(`${lines.join('')}data: [DONE]\n\n`)
  }

/** A request of agent a, and the answer that gives it a handle. */
export type Given = readonly [what: string, request: Ask, answer: Answer, uses: readonly Ask[]]

/** A handle was given to agent a: the other agent is refused, agent a is not. */
export async function expectOwned(world: World, uses: readonly Ask[]): Promise<void> {
  for (const use of uses) {
    const seen = world.upstream.seen.length
    const { reply } = await world.send(asked('b', use))
    expect([use.path, reply.status]).toEqual([use.path, refusalOf(use)])
    expect(reply.text()).toContain('that another agent created')
    expect(world.upstream.seen).toHaveLength(seen)
    expect(lastRecord(world)).toMatchObject({ agent: 'b', decision: 'DENY', handle: 'foreign' })
    expect((await world.send(asked('a', use))).reply.status).toBe(200)
    expect(lastRecord(world)).toMatchObject({ agent: 'a', decision: 'ALLOW' })
  }
}

export async function give(world: World, [, request, answer]: Given): Promise<void> {
  world.upstream.answerWith(answer)
  expect((await world.send(asked('a', request))).reply.status).toBe(200)
  world.upstream.answerWith(json({}))
}

/** A refused message of MCP is answered as an error of JSON-RPC. */
export const refusalOf = ({ at, body }: Ask) => (at === 'mcp' && body !== undefined ? 200 : 403)
export const lastRecord = (world: World) => world.records.at(-1)
