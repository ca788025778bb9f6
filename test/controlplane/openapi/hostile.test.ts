import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { size } from '../../support/proof.ts'
import { readCsv } from '../audit/csv.ts'
import {
  ENROL_TOKEN,
  MAINTENANCE_SECRET,
  OPERATOR_TOKEN,
  startTestInstallation,
  type TestInstallation,
} from '../routes/installation.ts'
import { type Answer, at, type Call, caller } from '../routes/start.ts'
import { type Operation, readOperations, replaced, samples, textPaths } from './document.ts'

let here: TestInstallation
let operations: readonly Operation[]
let agentCount = 0

beforeAll(async () => {
  here = await startTestInstallation()
  operations = await readOperations(here.plane.call)
})
afterAll(() => here?.[Symbol.asyncDispose]())

/** Some of it must be refused, the rest may be stored: then it comes back as it was, and does nothing. */
const TEXTS: ReadonlyArray<readonly [name: string, text: string]> = [
  ['SQL', `'; drop table users; --`],
  ['SQL with quotes', `" or 1=1; $1 \\'`],
  ['a formula', '=HYPERLINK("http://evil.example","x")'],
  ['CR and LF', 'a\r\nX-Injected: yes\r\n\r\nb'],
  ['__proto__', '__proto__'],
  ['markup', '<img src=x onerror=alert(1)>{{7*7}}#{7*7}'],
  ['right-to-left', '\u202ereversed\u202c\ufeff'],
  ['a format string', '%s%n%00%0d%0a../../etc/passwd'],
]
const REFUSED: ReadonlyArray<readonly [name: string, text: string]> = [
  ['NUL', 'a\0b'],
  ['half a surrogate pair', 'a\ud800b'],
]
/** Every text for every field and parameter in the nightly run, every eighth in `npm test`, and every second that is refused. */
const TEXT_STEP = size(8, 1)
const REFUSED_STEP = size(2, 1)
const HUGE: readonly [string, string] = ['a megabyte', 'x'.repeat(1_000_000)]

async function callOf({ security }: Operation): Promise<Call> {
  const bearer = (token: string) =>
    caller(here.plane.url, { authorization: `Bearer ${token}`, 'x-process-id': 'proc_test' })
  if (security.includes('session')) return here.admin
  if (security.includes('agentKey')) {
    // A new agent for each: 60 requests a minute are an agent's limit.
    const agent = { name: `hostile ${agentCount++}`, runtime: 'test', environment: 'development' }
    return bearer(at((await here.admin('POST', '/api/dashboard/agents', agent)).body, 'api_key'))
  }
  if (security.includes('gatewayToken')) return bearer(ENROL_TOKEN)
  if (security.includes('operatorToken')) return bearer(OPERATOR_TOKEN)
  if (security.includes('maintenanceSecret')) return bearer(MAINTENANCE_SECRET)
  return here.plane.call
}

function pathOf({ path, parameters }: Operation, hostile?: readonly [name: string, text: string]): string {
  const filling = (name: string, sample: string) =>
    encodeURIComponent(hostile?.[0] === name ? hostile[1] : sample)
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => filling(name, 'nothing'))
  const query = parameters
    .filter(
      (parameter) => parameter.in === 'query' && (parameter.required || parameter.name === hostile?.[0]),
    )
    .map(({ name, schema }) => `${name}=${filling(name, String(samples(schema)[0]))}`)
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`
}

/** Clear means: one of the documented answers, never a failure of ours, and a 400 says which field it is about. */
function judge(what: string, operation: Operation, answer: Answer): string[] {
  const problems = operation.statuses.includes(answer.status)
    ? []
    : [`${what}: ${answer.status} is not documented`]
  if (answer.status >= 500 && answer.status !== 503) problems.push(`${what}: ${answer.status} ${answer.text}`)
  if (answer.status >= 400 && typeof answer.body['error'] !== 'string')
    problems.push(`${what}: no error in ${answer.text}`)
  if (answer.headers.get('x-injected') !== null) problems.push(`${what}: a header was injected`)
  return problems
}

const isSkipped = ({ path }: Operation) => path === '/api/gateway/stream'

describe('hostile text', () => {
  test('in every text field of every body is refused clearly or stored as text', async () => {
    const problems: string[] = []
    let sent = 0
    let fields = 0
    for (const operation of operations) {
      if (operation.body === undefined || isSkipped(operation)) continue
      for (const [index, body] of samples(operation.body).entries()) {
        const call = await callOf(operation)
        for (const path of textPaths(body)) {
          const send = async ([name, text]: readonly [string, string], mustRefuse: boolean) => {
            const what = `${operation.method} ${operation.path} ${path.join('.')} = ${name}`
            const answer = await call(operation.method, pathOf(operation), replaced(body, path, text))
            // Else an agent's 60 requests of a minute would answer for it.
            if (sent++ % 40 === 0) await here.sql('delete from agent_windows')
            problems.push(...judge(what, operation, answer))
            const isLimited = answer.status === 429 && !operation.security.includes('agentKey')
            if (mustRefuse && !isLimited && answer.status !== 400)
              problems.push(`${what}: ${answer.status} instead of 400`)
          }
          // In turns, so that every text meets every kind of field.
          const first = fields++
          for (const [turn, hostile] of TEXTS.entries())
            if ((turn + first) % TEXT_STEP === 0) await send(hostile, false)
          for (const [turn, hostile] of REFUSED.entries())
            if ((turn + first) % REFUSED_STEP === 0) await send(hostile, true)
          if (index === 0 && first % TEXT_STEP === 0) await send(HUGE, false)
        }
      }
    }
    expect(problems).toEqual([])
    expect(sent).toBeGreaterThan(size(250, 1_000))
  }, 240_000)

  test('in every parameter of every query and path is refused clearly or finds nothing', async () => {
    const problems: string[] = []
    let fields = 0
    for (const operation of operations) {
      if (isSkipped(operation)) continue
      const call = await callOf(operation)
      for (const { name } of operation.parameters) {
        const first = fields++
        for (const [kind, text] of [
          ...TEXTS.filter((_, turn) => (turn + first) % TEXT_STEP === 0),
          ['NUL', 'a\0b'] as const,
          ['long', 'x'.repeat(8_000)] as const,
        ]) {
          const answer = await call(operation.method, pathOf(operation, [name, text]), operation.body && {})
          problems.push(
            ...judge(`${operation.method} ${operation.path} ${name} = ${kind}`, operation, answer),
          )
        }
      }
    }
    expect(problems).toEqual([])
  })

  test('as keys, as deep nesting and as anything but an object is refused clearly', async () => {
    const problems: string[] = []
    const bodies = [
      '{"__proto__": {"isAdmin": true}}',
      '{"constructor": {"prototype": {"isAdmin": true}}}',
      '{"a\\u0000b": 1}',
      `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
      `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
      '[]',
      'null',
      '"text"',
      '12e999',
      '{"a":1',
      '',
    ]
    for (const operation of operations) {
      if (operation.body === undefined || isSkipped(operation)) continue
      const call = await callOf(operation)
      for (const body of bodies) {
        const answer = await call(operation.method, pathOf(operation), body)
        const what = `${operation.method} ${operation.path} ${body.slice(0, 40)}`
        problems.push(...judge(what, operation, answer))
      }
    }
    expect(problems).toEqual([])
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined()
  })

  test('that was stored did nothing: everything is there, lists work, and the CSV is whole', async () => {
    const tables = await here.sql(
      `select count(*) as n from pg_class where relname in ('users', 'agents', 'audit_events')`,
    )
    expect(Number(tables[0]?.['n'])).toBe(3)
    for (const path of [
      'agents',
      'policies',
      'gateway',
      'users',
      'connectors',
      'permissions',
      'settings',
      'traffic',
      'export',
    ]) {
      expect((await here.admin('GET', `/api/dashboard/${path}`)).status, path).toBe(200)
    }
    const { text } = await here.admin('GET', '/api/dashboard/audit-export')
    const [head, ...rows] = readCsv(text)
    expect(rows.length).toBeGreaterThan(20)
    for (const row of rows) {
      expect(row).toHaveLength(head?.length ?? 0)
      for (const cell of row) expect(cell).not.toMatch(/^[=+\-@\t\r]/)
    }
    // In the short form no hostile text may have met the runtime of an agent.
    const hostile = {
      name: 'hostile runtime',
      runtime: `'; drop table users; --`,
      environment: 'development',
    }
    expect((await here.admin('POST', '/api/dashboard/agents', hostile)).status).toBe(200)
    const agents = await here.admin('GET', '/api/dashboard/agents')
    // Stored as it was sent.
    expect(agents.text).toContain(JSON.stringify(`'; drop table users; --`).slice(1, -1))
  })
})
