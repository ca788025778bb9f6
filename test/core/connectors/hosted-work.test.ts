import { describe, expect, it } from 'vitest'
import { chat } from '../../../core/connectors/chat.ts'
import type { Connector } from '../../../core/connectors/connector.ts'
import { CHAT_WORK } from '../../../core/connectors/hosted-work/chat.ts'
import { LLM_A_WORK } from '../../../core/connectors/hosted-work/llm-a.ts'
import { LLM_B_WORK } from '../../../core/connectors/hosted-work/llm-b.ts'
import { LLM_C_WORK } from '../../../core/connectors/hosted-work/llm-c.ts'
import { cancelRequest, startedWork } from '../../../core/connectors/hosted-work/started-work.ts'
import { compileWork, type WorkTable } from '../../../core/connectors/hosted-work/table.ts'
import { llmA, llmB, llmC } from '../../../core/connectors/llm.ts'
import { actionsOf } from '../../../core/connectors/named-action.ts'
import type { ProviderTable } from '../../../core/connectors/provider-side/table.ts'
import { LLM_A_PROVIDER_SIDE } from '../../../core/connectors/provider-side/table-a.ts'
import { LLM_B_PROVIDER_SIDE } from '../../../core/connectors/provider-side/table-b.ts'
import { LLM_C_PROVIDER_SIDE } from '../../../core/connectors/provider-side/table-c.ts'
import { type CanonicalRequest, isRefusal } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'

/** Operations whose further action says that the provider goes on after its response, without work that could be cancelled. */
const WITHOUT_WORK: ReadonlySet<string> = new Set([
  // Such a change starts no session: the next one belongs to the automation or deployment, which is work of its creation.
  'llm_a.agent_automation.update',
  'llm_b.deployment.update',
])
const PROVIDER_TABLES: readonly ProviderTable[] = [
  LLM_A_PROVIDER_SIDE,
  LLM_B_PROVIDER_SIDE,
  LLM_C_PROVIDER_SIDE,
]

const TABLES: ReadonlyArray<readonly [Connector, WorkTable]> = [
  [llmA, LLM_A_WORK],
  [llmB, LLM_B_WORK],
  [llmC, LLM_C_WORK],
  [chat, CHAT_WORK],
]

const CONFIG = { domains: [], ports: [443], actions: [] } as never

function requestOf(method: string, target: string): CanonicalRequest {
  const rawHeaders = ['Host', 'api.test']
  const request = canonicalise({
    method,
    target,
    rawHeaders,
    httpVersion: '1.1',
    scheme: 'https',
    sources: {},
  })
  if (isRefusal(request)) throw new Error(request.detail)
  return request
}

it('every operation that runs an agent or a batch at a provider is work that a kill switch cancels or lists', () => {
  const known = new Set(TABLES.flatMap(([, table]) => [...compileWork(table).starts.keys()]))
  const missing = PROVIDER_TABLES.flatMap(({ connector, operations = '' }) =>
    operations
      .split('\n')
      .flatMap((line) => line.trim().split(/\s+/)[0] || [])
      .map((name) => `${connector}.${name}`),
  ).filter((type) => !known.has(type) && !WITHOUT_WORK.has(type))
  expect(missing).toEqual([])
})

describe.each(TABLES)('work at providers', (connector, table) => {
  const work = compileWork(table)
  const rows = connector.catalogue ?? []

  it(`starts and ends with operations of the catalogue (${table.connector})`, () => {
    const known = new Set(rows.map(({ type }) => type))
    for (const type of [...work.starts.keys(), ...work.ends.keys()]) expect(known, type).toContain(type)
    expect(work.starts.size).toBe(table.starts.trim().split('\n').length)
  })

  it(`is cancelled with a write of the catalogue (${table.connector})`, () => {
    for (const [type, start] of work.starts) {
      const row = rows.find((one) => one.type === type && 'template' in one)
      const template = row !== undefined && 'template' in row ? String(row.template) : ''
      const path = template.replaceAll(/\{[^}]+\}/g, 'x')
      const request = requestOf('POST', path)
      const texts = start.ids.map(({ name }) => `${name}_1`)
      const started = startedWork(work, start, { request, texts })
      if (started === null) throw new Error(`${type} starts nothing`)
      const cancel = cancelRequest(started)
      if (start.kind.cancel === null) {
        expect(cancel).toBeNull()
        continue
      }
      if (cancel === null) throw new Error(`${type} is not cancelled`)
      const named = connector.parseAction(requestOf(cancel.method, cancel.target), { kind: 'absent' }, CONFIG)
      if (isRefusal(named)) throw new Error(named.detail)
      const [action] = actionsOf(named)
      expect(action?.unmapped, `${type}: ${cancel.target}`).not.toBe(true)
      expect(action?.effect, cancel.target).not.toBe('read')
    }
  })

  it(`is not kept with ids that a path or JSON would need escapes for (${table.connector})`, () => {
    for (const start of work.starts.values()) {
      for (const id of ['..', 'a b', '', '%2e', 'x'.repeat(300), 'a"b', '{id}', 'a?b', 'a#b']) {
        const given = { request: requestOf('POST', '/v1/x'), texts: start.ids.map(() => id) }
        expect(startedWork(work, start, given)).toBeNull()
      }
    }
  })
})
