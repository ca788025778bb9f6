import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ATTRIBUTES } from '../../../controlplane/features/record-export/otlp/attributes.ts'
import { otlpLogs } from '../../../controlplane/features/record-export/otlp/logs.ts'
import { readRecordExportSettings } from '../../../controlplane/features/record-export/settings.ts'
import { RecordSchema, type TrafficRecord } from '../../../core/record.ts'
import { logsOf, trafficRecord } from './world.ts'

const QUEUED = new Date('2026-01-02T03:04:06.000Z')
const oneLog = (record: TrafficRecord) => {
  const [log] = logsOf(Buffer.from(otlpLogs([{ record, queuedAt: QUEUED }], {})), undefined)
  if (log === undefined) throw new Error('there is no log')
  return log
}
const valuesOf = (record: TrafficRecord) =>
  Object.fromEntries(oneLog(record).attributes.map(({ key, value }) => [key, value]))

/** Fields of a record that are not attributes, with the reason. */
const OTHER = {
  time: 'timeUnixNano',
  given: 'not stored in the traffic log',
  audit: 'not stored in the traffic log',
}

const FULL: TrafficRecord = trafficRecord({
  id: 'rec_full',
  time: '2026-01-02T03:04:05.678Z',
  decision: 'DENY',
  would: 'HOLD',
  note: 'note',
  reason: 'policy',
  approval_id: 'apr_1',
  act_id: 'act_1',
  instance: { pod: 'team/bot-0', pod_uid: 'uid', sandbox: 'team/box', claim: 'team/claim' },
  candidates: ['a.b.c'],
  actions: ['a.b.c', 'a.b.d'],
  action_count: 2,
  action_details: [
    { type: 'a.b.c', target: 'o/r', effect: 'write', effects: ['publish', 'delete'] },
    { type: 'a.b.d', target: null, effect: 'compute' },
  ],
  function_tools: 3,
  effects: ['publish'],
  handle: 'own',
  error_type: 'timeout',
  permission: 'codehost.*',
  policies: ['team/rules'],
  why: {
    ...{
      source: 'policy',
      reason: 'No merges.',
      pattern: 'codehost.*',
      rules: [{ policy: 'team/rules', rule: 'no' }],
    },
    ...{ risk_score: 1, risk_factors: ['write'], approver_groups: ['sre'] },
  },
  credential: {
    ...{ id: 'default/codehost/7', source: 'githubApp', scope: ['contents:write'], not_narrowed: 'no' },
    expires_at: '2026-01-02T04:00:00Z',
  },
  refusals: {
    ...{ count: 3, first: '2026-01-02T03:04:05Z', last: '2026-01-02T03:05:05Z', distinct_targets: 1 },
    ...{ more_targets: false, targets: ['o/r'], reasons: { policy: 3 }, actions: { 'a.b.c': 3 } },
  },
})

test('a record is a log with its times, its severity and its attributes', () => {
  expect(RecordSchema.safeParse(FULL).success).toBe(true)
  const { attributes, ...log } = oneLog(FULL)
  expect(log).toEqual({
    timeUnixNano: '1767323045678000000',
    observedTimeUnixNano: '1767323046000000000',
    ...{ severityNumber: 13, severityText: 'WARN', eventName: 'chaperone.request' },
    body: { stringValue: 'DENY codehost.pr.merge team/bot' },
  })
  expect(attributes.map(({ key }) => key)).toEqual(ATTRIBUTES.map(({ name }) => name))
  expect(valuesOf(FULL)).toMatchObject({
    'log.record.uid': { stringValue: 'rec_full' },
    'http.request.method': { stringValue: 'PUT' },
    'url.path': { stringValue: '/repos/o/r/pulls/1/merge' },
    'url.query': { stringValue: 'x=1' },
    'http.response.status_code': { intValue: '200' },
    'k8s.namespace.name': { stringValue: 'team' },
    'k8s.pod.name': { stringValue: 'bot-0' },
    'chaperone.why.rules': { arrayValue: { values: [{ stringValue: 'team/rules: no' }] } },
    'chaperone.action.details': {
      arrayValue: {
        values: [{ stringValue: 'a.b.c: write, o/r (publish, delete)' }, { stringValue: 'a.b.d: compute' }],
      },
    },
    'chaperone.function_tools': { intValue: '3' },
    'chaperone.refusals.reasons': { kvlistValue: { values: [{ key: 'policy', value: { intValue: '3' } }] } },
    'chaperone.refusals.more_targets': { boolValue: false },
  })
})

test('a whole number of milliseconds stays a double', () => {
  const values = valuesOf(FULL)
  expect(values['chaperone.latency_ms']).toEqual({ doubleValue: 12 })
  expect(values['chaperone.why.risk_score']).toEqual({ doubleValue: 1 })
  expect(values['chaperone.seq']).toEqual({ intValue: String(FULL.seq) })
})

test('absent fields have no attributes, and an aggregate record has no method', () => {
  const values = valuesOf(trafficRecord({ method: '*', path: null, host: null, status: null }))
  for (const name of ['http.request.method', 'url.path', 'url.query', 'server.address', 'k8s.pod.name'])
    expect(values).not.toHaveProperty([name])
})

test('every field of a record is an attribute', () => {
  const read = new Set<string>()
  const watched = new Proxy(FULL, {
    get(record, field) {
      read.add(String(field))
      return Reflect.get(record, field)
    },
  })
  for (const { value } of ATTRIBUTES) value(watched)
  expect([...read, ...Object.keys(OTHER)].sort()).toEqual(Object.keys(RecordSchema.shape).sort())
})

test('the documentation lists every attribute with its meaning', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../docs/production.md'), 'utf8')
  const rows = ATTRIBUTES.map(({ name, meaning }) => `| \`${name}\` | ${meaning} |`)
  expect(
    page.split('\n').filter((line) => /^\| `(log|http|server|url|error|k8s|chaperone)\./.test(line)),
  ).toEqual(rows)
})

const settings = (env: Record<string, string>) => readRecordExportSettings((name) => env[name] ?? null, null)

test('the settings name what is wrong', () => {
  expect(settings({})).toBeNull()
  expect(settings({ RECORD_EXPORT_URL: 'http://collector:4318/v1/logs' })).toEqual({
    ...{ url: 'http://collector:4318/v1/logs', headersFile: null, resource: {} },
  })
  for (const url of [
    'collector:4318',
    'http://collector:4318',
    'http://collector:4318/',
    'ftp://collector/v1/logs',
  ])
    expect(() => settings({ RECORD_EXPORT_URL: url })).toThrow(
      /^RECORD_EXPORT_URL is not an http or https address/,
    )
  expect(() => settings({ RECORD_EXPORT_URL: 'https://u:p@collector/v1/logs' })).toThrow(
    /RECORD_EXPORT_HEADERS_FILE instead$/,
  )
  expect(() => settings({ RECORD_EXPORT_HEADERS_FILE: '/headers' })).toThrow(/without RECORD_EXPORT_URL/)
})
