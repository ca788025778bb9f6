import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { at } from '../routes/start.ts'
import { type OidcStage, startOidcStage } from './stage.ts'
import type { SignedIn } from './visitor.ts'

let stage: OidcStage
let ada: SignedIn
let bea: SignedIn
let count = 0

beforeAll(async () => {
  stage = await startOidcStage()
  // A group without members would be left to admins.
  const [name, groups] = ['leo', ['team-a', 'oncall']]
  stage.idp.accounts.set(name, { sub: name, email: 'leo@example.com', email_verified: true, name, groups })
  await stage.signIn(name)
})
afterAll(() => stage?.[Symbol.asyncDispose]())
beforeEach(async () => {
  stage.idp.isUp = true
  const account = (name: string, groups: readonly string[]) =>
    stage.idp.accounts.set(name, {
      sub: name,
      email: `${name}@example.com`,
      email_verified: true,
      name,
      groups,
    })
  account('ada', ['platform-admins'])
  account('bea', ['team-a', 'oncall'])
  ;[ada, bea] = [await stage.signIn('ada'), await stage.signIn('bea')]
})

async function hold(): Promise<string> {
  const id = `apv_earlier_${count++}`
  const sets = [['oncall'], ['sre']].map((groups) => ({ policy: groups[0], groups, distinct: false }))
  await stage.here.sql(
    `insert into approvals (id, org_id, kind, agent, card, required_groups, expires_at)
     select $1, id, 'hold', 'team-a/bot', '{"action_type":"codehost.pr.merge","connector":"codehost","parameters":{},"risk_factors":[]}',
       $2, clock_timestamp() + interval '5 min' from orgs`,
    [id, JSON.stringify(sets)],
  )
  return id
}
const answer = async (of: SignedIn, id: string, approved = true) => {
  const reply = await of.call('POST', '/api/dashboard/proxy-approvals', { id, approved })
  return reply.status === 200 ? at(reply.body, 'status') : reply.status
}
/** As if the provider had not been asked about bea for five minutes. */
const longAgo = () =>
  stage.here.sql(
    `update user_identities set checked_at = checked_at - interval '5 minutes'
     where user_id in (select id from users where email = 'bea@example.com')`,
  )
const answers = async (id: string) => {
  const rows = await stage.here.sql(
    `select status, (select jsonb_agg(one->>'by') from jsonb_array_elements(answers) as one) as by from approvals where id = $1`,
    [id],
  )
  return rows[0]
}

test.each<[string, () => void]>([
  ['was removed at the provider', () => void stage.idp.accounts.delete('bea')],
  [
    'lost the approver group there',
    () =>
      void stage.idp.accounts.set('bea', {
        ...{ sub: 'bea', email: 'bea@example.com', email_verified: true, name: 'bea', groups: ['team-a'] },
      }),
  ],
  [
    'lost the namespace there',
    () =>
      void stage.idp.accounts.set('bea', {
        ...{ sub: 'bea', email: 'bea@example.com', email_verified: true, name: 'bea' },
        groups: ['team-b', 'oncall'],
      }),
  ],
])('an earlier answer of a user who %s since does not count', async (_what, change) => {
  const id = await hold()
  expect(await answer(bea, id)).toBe('pending')
  change()
  await longAgo()
  expect(await answer(ada, id)).toBe('pending')
  expect(await answers(id)).toEqual({ status: 'pending', by: ['ada@example.com'] })
})

test('an earlier answer of a user whom the provider confirms counts', async () => {
  const id = await hold()
  expect(await answer(bea, id)).toBe('pending')
  await longAgo()
  expect(await answer(ada, id)).toBe('approved')
})

test('while the provider does not answer, an earlier answer neither counts nor is lost, and anybody denies', async () => {
  const [id, other] = [await hold(), await hold()]
  for (const each of [id, other]) expect(await answer(bea, each)).toBe('pending')
  await longAgo()
  stage.idp.isUp = false
  expect(await answer(ada, id)).toBe(503)
  expect(await answers(id)).toEqual({ status: 'pending', by: ['bea@example.com'] })
  expect(await answer(ada, other, false)).toBe('denied')
  stage.idp.isUp = true
  expect(await answer(ada, id)).toBe('approved')
})
