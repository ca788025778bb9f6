import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at } from '../routes/start.ts'
import { readCsv } from './csv.ts'

let here: TestInstallation

beforeAll(async () => {
  here = await startTestInstallation()
})
afterAll(() => here?.[Symbol.asyncDispose]())

const COLUMNS = [
  'timestamp',
  'event_type',
  'agent_id',
  'action_type',
  'details',
  'id',
  'org_id',
  'user_id',
  'action_request_id',
  'resource',
]

async function events(query = ''): Promise<Record<string, string>[]> {
  const answer = await here.admin('GET', `/api/dashboard/audit-export${query}`)
  expect(answer.status).toBe(200)
  const [head, ...lines] = readCsv(answer.text)
  expect(head).toEqual(COLUMNS)
  return lines.map((line) => Object.fromEntries(COLUMNS.map((name, index) => [name, line[index] ?? ''])))
}

async function append(type: string, fields: Record<string, unknown>): Promise<void> {
  await here.sql(
    `insert into audit_events (event_type, org_id, agent_id, action_request_id, details, created_at)
     select $1, id, $2, $3, $4, coalesce($5::timestamptz, now()) from orgs`,
    [
      type,
      fields['agent'] ?? null,
      fields['act'] ?? null,
      JSON.stringify(fields['details'] ?? {}),
      fields['at'],
    ],
  )
}

describe('the audit log as CSV', () => {
  test('is an attachment with the five columns first, oldest event first', async () => {
    const answer = await here.admin('GET', '/api/dashboard/audit-export')
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="audit-events.csv"')
    expect(answer.text.endsWith('\r\n')).toBe(true)
    const rows = await events()
    expect(rows[0]).toMatchObject({ event_type: 'policy.created', id: 'evt_000000000001' })
    expect(rows.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).toSorted())
  })

  test('finds by both sets of parameters', async () => {
    const details = { action_type: 'codehost.pr.merge', resource: { provider: 'codehost', target: 'a/b' } }
    await append('action.requested', { agent: 'agent_x', act: 'act_one', details })
    await append('action.denied', { agent: 'agent_x', act: 'act_one', details: { decision: 'deny' } })
    await append('user.login', { at: '2020-01-02T03:04:05Z', details: { email: 'Old@example.com' } })

    const chain = await events('?action_request_id=act_one')
    expect(chain.map((row) => row['event_type'])).toEqual(['action.requested', 'action.denied'])
    // What was asked is shown with every event of the chain.
    expect(chain[1]).toMatchObject({
      action_type: 'codehost.pr.merge',
      resource: '{"target": "a/b", "provider": "codehost"}',
    })
    expect(await events('?type=action.denied')).toHaveLength(1)
    expect(await events('?event_type=action.denied')).toHaveLength(1)
    expect(await events('?type=action.denied&event_type=action.denied&agent_id=agent_x')).toHaveLength(1)
    expect(await events('?agent_id=agent_y')).toEqual([])
    expect(await events('?q=OLD@EXAMPLE')).toHaveLength(1)
    expect(await events('?to=2021-01-01T00:00:00Z')).toHaveLength(1)
    expect(await events('?from=2020-01-02T03:04:05Z&to=2020-01-02T03:04:05Z')).toEqual([])
    expect(await events('?from=2020-01-02T05:04:05%2B02:00&to=2020-01-03T00:00:00Z')).toHaveLength(1)
  })

  test.each([
    'type=action.denied&event_type=user.login',
    'from=yesterday',
    'from=0000-01-01T00:00:00Z',
    'format=xml',
    'q=',
    'q=%00',
  ])('refuses ?%s with the name of the parameter', async (query) => {
    const answer = await here.admin('GET', `/api/dashboard/audit-export?${query}`)
    expect(answer.status).toBe(400)
    expect(at(answer.body, 'error')).toBe('Validation failed')
    expect(at(answer.body, 'details')).toMatch(/^(type|from|format|q): /)
  })

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '  =1', '＝1'])(
    'neutralises the formula %j and keeps its text',
    async (text) => {
      await append('user.login', { agent: text, details: { text } })
      const row = (await events()).at(-1)
      expect(row?.['agent_id']).toBe(`'${text}`)
      expect(JSON.parse(row?.['details'] ?? '')).toEqual({ text })
    },
  )

  test('keeps line ends, quotes and commas inside their cell', async () => {
    const before = (await events()).length
    const text = 'a"b,c\r\nd\ne'
    await append('user.login', { agent: text, details: { text } })
    const rows = await events()
    expect(rows).toHaveLength(before + 1)
    expect(rows.at(-1)?.['agent_id']).toBe(text)
  })

  test('comes complete when there is more than one page of it', async () => {
    await here.sql(
      `insert into audit_events (event_type, org_id, details)
       select 'user.login', id, jsonb_build_object('n', n) from orgs, generate_series(1, 2500) n`,
    )
    const rows = (await events('?type=user.login')).flatMap((row) => {
      const { n } = JSON.parse(row['details'] ?? '{}')
      return typeof n === 'number' ? [n] : []
    })
    expect(rows).toEqual(Array.from({ length: 2_500 }, (_, index) => index + 1))
  })

  test('is for admins', async () => {
    expect((await here.plane.call('GET', '/api/dashboard/audit-export')).status).toBe(401)
  })
})
