import { at, type Call, caller, register } from '../routes/start.ts'
import { type ExecutionWorld, type Submitted, startExecutionWorld } from '../v1/execution-world.ts'
import { ALLOWED, bearer, RISKY, type TestAgent } from '../v1/world.ts'

const MAINTENANCE_SECRET = 'maintenance-secret-of-this-installation'

/** One installation with everybody who calls, a gateway that carries out, and actions in every state at will. */
export type ContractWorld = AsyncDisposable & {
  readonly here: ExecutionWorld
  readonly agent: TestAgent
  /** Another agent of the same organisation. */
  readonly stranger: TestAgent
  readonly by: Readonly<Record<Role | 'nobody' | 'maintenance' | 'forged' | 'forgedKey', Call>>
  readonly ids: Readonly<Record<Role, string>>
  /** Every agent has its 60 requests of a minute again. */
  freshWindows(): Promise<unknown>
  allowed(): Promise<Submitted>
  pending(): Promise<Submitted>
  /** Pending, and out of time by the database's clock. */
  overdue(): Promise<Submitted>
  /** Allowed, with a token that is out of time by the database's clock. */
  stale(): Promise<Submitted>
}

export type Role = 'owner' | 'admin' | 'member' | 'viewer'

/** The installation of the test, which starts after the tables are made. */
export type World = () => ContractWorld

export const callersOf = (world: World) => ({
  agentKey: () => world().agent.call,
  stranger: () => world().stranger.call,
  owner: () => world().by.owner,
  admin: () => world().by.admin,
  member: () => world().by.member,
  viewer: () => world().by.viewer,
  nobody: () => world().by.nobody,
})

export async function startContractWorld(): Promise<ContractWorld> {
  const here = await startExecutionWorld({ MAINTENANCE_SECRET })
  const { world, submit } = here
  const { plane, admin, sql } = world
  const owner = await person(plane, 'owner')
  const users = { owner } as Record<Role, { readonly id: string; readonly call: Call }>
  for (const role of ['admin', 'member', 'viewer'] as const) {
    const email = `${role}@example.com`
    const { body } = await admin('POST', '/api/dashboard/users', { action: 'invite', email, role })
    users[role] = await person(plane, role, { invite_token: at(body, 'invite_token') })
  }
  const agent = await world.agent({ capabilities: ['org:kill_switch', 'agents:register', 'audit:read'] })
  const stranger = await world.agent()
  const calls = Object.entries(users).map(([role, { call }]) => [role, call])
  const ids = Object.entries(users).map(([role, { id }]) => [role, id])
  const late = "clock_timestamp() - interval '1 s'"
  return {
    ...{ here, agent, stranger },
    ids: Object.fromEntries(ids),
    by: {
      ...(Object.fromEntries(calls) as Record<Role, Call>),
      nobody: plane.call,
      maintenance: caller(plane.url, bearer(MAINTENANCE_SECRET)),
      forged: caller(plane.url, { cookie: 'svc_session=forged' }),
      forgedKey: caller(plane.url, bearer(`svc_test_${'a'.repeat(43)}`)),
    },
    freshWindows: () => sql('delete from agent_windows'),
    allowed: () => submit(agent, ALLOWED),
    pending: () => submit(agent, RISKY),
    async overdue() {
      const action = await submit(agent, RISKY)
      await sql(`update approvals set expires_at = ${late} where id = $1`, [action.approval])
      return action
    },
    async stale() {
      const action = await submit(agent, ALLOWED)
      await sql(`update nonces set expires_at = ${late} where act_id = $1`, [action.id])
      return action
    },
    [Symbol.asyncDispose]: () => here[Symbol.asyncDispose](),
  }
}

async function person(
  plane: { readonly call: Call; signIn(email: string): Promise<Call> },
  role: Role,
  extra: Record<string, unknown> = {},
) {
  const email = `${role}@example.com`
  const { body, text } = await register(plane.call, email, extra)
  const id = at<string | undefined>(body, 'user', 'id')
  if (id === undefined) throw new Error(text)
  return { id, call: await plane.signIn(email) }
}
