import { afterAll, beforeAll, expect, test } from 'vitest'
import { OPERATOR_TOKEN, startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at, type Call, caller } from '../routes/start.ts'

const D = '/api/dashboard'
let here: TestInstallation
let bot: Call

/** The platform team holds merges and denies deletions for everybody; the tenant allows all of it with any priority. */
beforeAll(async () => {
  here = await startTestInstallation({ PLATFORM_NAMESPACES: 'security' })
  await apply('Gateway', 'team', 'main', {})
  const credential = { credential: { secretRef: { name: 'token', key: 'token' } } }
  await apply('Connector', 'team', 'codehost', { type: 'codehost', ...credential }, 'ghp_team')
  const rules = [{ connectorType: 'codehost', actionPattern: 'codehost.*', decision: 'allow' }]
  await apply('Permission', 'team', 'all', { gatewayRefs: [{ name: 'main' }], rules })
  await apply('Policy', 'team', 'own', {
    ...{ gatewayRefs: [{ name: 'main' }], priority: 1_000_000, rules: [{ name: 'mine', decision: 'allow' }] },
  })
  for (const [name, action, decision] of [
    ['merges', 'codehost.pr.merge', 'require_approval'],
    ['deletions', 'codehost.repo.delete', 'deny'],
  ] as const)
    await apply('Policy', 'security', name, {
      scope: { actions: [action] },
      rules: [{ name: 'r', decision }],
    })
  const agent = { name: 'team/bot', runtime: '', environment: 'test', gateway: 'team/main' }
  const made = await here.admin('POST', `${D}/agents`, agent)
  bot = caller(here.plane.url, { authorization: `Bearer ${at(made.body, 'api_key')}` })
})
afterAll(() => here?.[Symbol.asyncDispose]())

async function apply(kind: string, namespace: string, name: string, spec: object, credential?: string) {
  const operator = caller(here.plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
  const { text, body } = await operator('PUT', `/api/operator/objects/${kind}/${namespace}/${name}`, {
    ...{ uid: `${kind}-${name}`, generation: 1, source: 'kubernetes', managed_by: 'kubernetes' },
    resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
    ...(credential === undefined ? {} : { credential }),
  })
  if (body['accepted'] !== true) throw new Error(text)
}

const submit = (type: string) =>
  bot('POST', '/api/v1/actions', {
    action_spec: { type, resource: { provider: 'codehost', target: 'acme/site' }, parameters: {} },
  })

test('a refusal says that a policy of the platform team denies', async () => {
  const { body } = await submit('codehost.repo.delete')
  expect(at(body, 'decision', 'reason')).toContain('Platform policy "security/deletions", rule "r"')
})

test('a card says that a policy of the platform team requires the approver', async () => {
  expect((await submit('codehost.pr.merge')).body['status']).toBe('pending_approval')
  const { body } = await here.admin('GET', `${D}/proxy-approvals?status=pending`)
  expect(body['approvals']).toMatchObject([{ matched_rule: 'security/merges (platform): r' }])
})

test('explain names the tier of each policy of the platform team, and of no other', async () => {
  const url = encodeURIComponent('https://api.github.com/repos/acme/site/pulls/7/merge')
  const { text } = await here.admin('GET', `${D}/explain?agent=team/bot&method=PUT&url=${url}`)
  expect(text).toContain('security/merges (platform)')
  expect(text).toContain('Platform policy')
  expect(text).not.toContain('team/own (platform)')
})

test('effective permissions name the tier', async () => {
  const { body } = await here.admin('GET', `${D}/effective-permissions?agent=team/bot`)
  const actions = body['actions'] as { type: string; rules: unknown[] }[]
  const merge = actions.find(({ type }) => type === 'codehost.pr.merge')
  expect(merge?.rules).toContainEqual(
    expect.objectContaining({ policyName: 'security/merges', tier: 'platform' }),
  )
})
