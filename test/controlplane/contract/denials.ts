import { PASSWORD } from '../routes/start.ts'
import { callersOf, type World } from './contract-world.ts'
import { answerOf, on, type RefusalCase } from './refusal-case.ts'

const V1_ROWS = [
  ...['POST /api/v1/actions', 'POST /api/v1/actions/batch', 'POST /api/v1/actions/dry-run'],
  ...['GET /api/v1/actions/act_x', 'POST /api/v1/actions/act_x/execute', 'POST /api/v1/actions/act_x/cancel'],
  ...['POST /api/v1/agents/register', 'GET /api/v1/policies', 'GET /api/v1/audit/events'],
]

/** Requests without valid credentials: 401. */
export function unauthorized(world: World): readonly RefusalCase[] {
  const { owner, nobody } = callersOf(world)
  return [
    ...[...V1_ROWS, 'POST /api/v1/org/kill-switch', 'POST /api/v1/approvals/apr_x/respond'].flatMap((row) => [
      { row, why: 'without a key', by: nobody, body: bodyOf(row), error: 'Unauthorized' },
      {
        row,
        why: 'with a key of nobody',
        by: () => world().by.forgedKey,
        body: bodyOf(row),
        error: unlessApprover(row),
      },
    ]),
    { row: 'GET /api/dashboard/traffic', why: 'without a session', by: nobody, error: 'Unauthorized' },
    {
      row: 'GET /api/dashboard/traffic',
      why: 'with a forged one',
      by: () => world().by.forged,
      error: 'Unauthorized',
    },
    { row: 'POST /api/maintenance/cleanup', why: 'without the secret', by: nobody, error: 'Unauthorized' },
    { row: 'GET /api/metrics', why: 'without the secret', by: nobody, error: 'Unauthorized' },
    {
      row: 'GET /api/metrics',
      why: "with an owner's session",
      by: owner,
      error: 'Unauthorized',
    },
    {
      ...{ row: 'POST /api/auth/login', why: 'with a wrong password', by: nobody, error: 'Unauthorized' },
      body: { email: 'viewer@example.com', password: `${PASSWORD}!` },
    },
  ].filter(({ error }) => error !== null)
}

function bodyOf(row: string): unknown {
  return row.startsWith('GET') ? undefined : {}
}

/** A text with the form of an agent key gets 403: agents do not answer approvals. */
function unlessApprover(row: string): string | null {
  return row.endsWith('/respond') ? null : 'Unauthorized'
}

const role = (required_role: string, your_role: string) => ({
  error: 'Forbidden',
  extra: { required_role, your_role },
})
const capability = (required_capability: string) => ({ error: 'Forbidden', extra: { required_capability } })

/** Requests that the caller must not send: 403. */
export function forbidden(world: World): readonly RefusalCase[] {
  const { agentKey, stranger, owner, admin, member, viewer } = callersOf(world)
  return [
    { row: 'GET /api/dashboard/proxy-approvals', why: 'a viewer', by: viewer, ...role('member', 'viewer') },
    ...['gateway', 'agents', 'policies', 'settings', 'audit-export', 'export'].map((name) => ({
      ...{ row: `GET /api/dashboard/${name}`, why: 'a member', by: member },
      ...role('admin', 'member'),
    })),
    ...['POST gateway', 'POST agents', 'POST policies', 'POST setup', 'PUT settings', 'POST users'].map(
      (name) => ({
        ...{ row: name.replace(' ', ' /api/dashboard/'), why: 'a member', by: member, body: {} },
        ...role('admin', 'member'),
      }),
    ),
    { row: 'POST /api/dashboard/import', why: 'an admin', by: admin, body: {}, ...role('owner', 'admin') },
    {
      ...{
        row: 'POST /api/dashboard/users',
        why: 'an admin who makes an owner',
        by: admin,
        error: 'Forbidden',
        extra: { required_role: 'owner', your_role: 'admin' },
      },
      given: async () => ({ body: { action: 'change_role', user_id: world().ids.member, role: 'owner' } }),
    },
    {
      ...{
        row: 'POST /api/dashboard/users',
        why: 'an admin who suspends the owner',
        by: admin,
        error: 'Forbidden',
        extra: { required_role: 'owner', your_role: 'admin' },
      },
      given: async () => ({ body: { action: 'suspend', user_id: world().ids.owner } }),
    },
    {
      ...{
        row: 'POST /api/dashboard/users',
        why: 'an owner who steps down',
        by: owner,
        error: 'Forbidden',
        extra: { required_role: 'owner', your_role: 'owner' },
      },
      given: async () => ({ body: { action: 'change_role', user_id: world().ids.owner, role: 'admin' } }),
    },
    {
      ...{
        row: 'POST /api/v1/org/kill-switch',
        why: 'without the capability',
        by: stranger,
      },
      ...capability('org:kill_switch'),
      body: { active: false },
    },
    {
      ...{
        row: 'POST /api/v1/agents/register',
        why: 'without the capability',
        by: stranger,
      },
      ...capability('agents:register'),
      body: { name: 'x', runtime: 'x', environment: 'x' },
    },
    {
      ...{ row: 'POST /api/v1/approvals/:id/respond', why: 'an agent', by: agentKey, error: 'Forbidden' },
      given: async () => answerOf(await world().pending()),
    },
    {
      ...{ row: 'POST /api/v1/actions/:id/execute', why: 'a token of another action', by: agentKey },
      given: async () => ({
        ...on(await world().allowed(), '/execute'),
        body: { decision_token: (await world().allowed()).token },
      }),
      error: 'Token verification failed: action mismatch',
    },
    {
      ...{ row: 'POST /api/v1/actions/:id/execute', why: 'a forged token', by: agentKey },
      given: async () => {
        const action = await world().allowed()
        const [head, body] = action.token.split('.')
        return on({ ...action, token: `${head}.${body}.${'A'.repeat(86)}` }, '/execute')
      },
      error: 'Token verification failed: invalid signature',
    },
  ]
}
