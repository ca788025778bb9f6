import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { replyJson } from '../../support/recorder.ts'
import { caller } from '../routes/start.ts'
import { ENROL_TOKEN } from '../v1/world.ts'
import { type ContractWorld, startContractWorld } from './contract-world.ts'
import { dashboardSuccesses } from './dashboard-successes.ts'
import { v1Successes } from './v1-successes.ts'

let world: ContractWorld
let version: string
beforeAll(async () => {
  world = await startContractWorld()
  world.here.upstream.answerWith(replyJson({ number: 3 }, 201))
  version = (JSON.parse(await readFile('package.json', 'utf8')) as { version: string }).version
})
beforeEach(() => world.freshWindows())
afterAll(() => world?.[Symbol.asyncDispose]())
const V1 = v1Successes(() => world)
const DASHBOARD = dashboardSuccesses(() => world)

describe.each([
  ['4.3', V1],
  ['4.4', DASHBOARD],
] as const)('specification %s answers 200', (_section, cases) => {
  test.each(cases.map((one) => [`${one.row}${one.as === undefined ? '' : ` (${one.as})`}`, one] as const))(
    '%s',
    async (_name, one) => {
      const given = (await one.given?.()) ?? {}
      const [method = '', path = ''] = one.row.split(' ')
      const answer = await one.by()(method, given.path ?? one.path ?? path, given.body ?? one.body)
      expect(answer.status, answer.text).toBe(200)
      expect(answer.headers.get('x-request-id')).toMatch(/^req_\w{10,}$/)
      expect(answer.headers.get('x-service-version')).toBe(version)
      expect(version).toMatch(/^\d+\.\d+\.\d+$/)
      expect(answer.body).toEqual(one.answer)
      one.also?.(answer)
    },
  )
})

test('these are all rows of 4.3 and 4.4, and no reply to a gateway token looks like one of them', async () => {
  const rows = new Set([...V1, ...DASHBOARD].map(({ row }) => row))
  expect([...rows].sort()).toEqual([...SPECIFIED].sort())
  const gateway = caller(world.here.world.plane.url, {
    authorization: `Bearer ${ENROL_TOKEN}`,
    'x-process-id': 'proc_x',
  })
  expect((await gateway('GET', '/api/v1/policies')).status).toBe(401)
})

const SPECIFIED = [
  ...['POST /api/v1/actions', 'POST /api/v1/actions/batch', 'POST /api/v1/actions/dry-run'],
  ...['GET /api/v1/actions/:actionRequestId', 'POST /api/v1/actions/:actionRequestId/execute'],
  ...['POST /api/v1/actions/:actionRequestId/cancel', 'POST /api/v1/agents/register', 'GET /api/v1/policies'],
  ...[
    'GET /api/v1/audit/events',
    'POST /api/v1/approvals/:approvalId/respond',
    'POST /api/v1/org/kill-switch',
  ],
  ...[
    'POST /api/v1/tokens/verify',
    'POST /api/auth/register',
    'POST /api/auth/login',
    'POST /api/auth/logout',
  ],
  ...['GET /api/health', 'POST /api/maintenance/cleanup', 'GET /api/metrics'],
  ...['GET', 'POST', 'PATCH'].flatMap((method) =>
    ['gateway', 'agents', 'policies'].map((name) => `${method} /api/dashboard/${name}`),
  ),
  ...['POST /api/dashboard/setup', 'GET /api/dashboard/traffic', 'GET /api/dashboard/proxy-approvals'],
  ...['POST /api/dashboard/proxy-approvals', 'GET /api/dashboard/settings', 'PUT /api/dashboard/settings'],
  ...['GET /api/dashboard/audit-export', 'GET /api/dashboard/export', 'POST /api/dashboard/import'],
  ...['POST /api/dashboard/users', 'POST /api/dashboard/demo-action', 'GET /api/dashboard/test-gateway'],
]
