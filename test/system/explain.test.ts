import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AgentRequest, type TestAgent, testAgent } from '../support/agent.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

let vendors: Vendors
let laptop: Laptop
let agent: TestAgent

const LACKING = `---
apiVersion: chaperone.dev/v1alpha1
kind: Connector
metadata: { name: lacking }
spec: { type: generic, domains: [lacking.example] }
---
apiVersion: chaperone.dev/v1alpha1
kind: Permission
metadata: { name: lacking }
spec:
  gatewayRefs: [{ name: local }]
  rules: [{ connectorType: generic, actionPattern: 'generic.*', decision: allow }]
---
apiVersion: chaperone.dev/v1alpha1
kind: Policy
metadata: { name: preview }
spec:
  scope: { actions: [codehost.issue.create] }
  rules: [{ name: previews, conditions: ['"x-preview" in request.headers'], decision: deny }]
`

beforeAll(async () => {
  vendors = await startVendors()
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'vendors.yaml': vendors.manifests + LACKING },
  })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
})

type Explained = {
  readonly text: string
  readonly action: { readonly type: string } | null
  readonly decision: { readonly verdict: string; readonly reason: string }
}

async function explain({ method, host, target }: AgentRequest): Promise<Explained> {
  const url = encodeURIComponent(`https://${host}${target}`)
  const { body } = await laptop.api('GET', `/api/dashboard/explain?method=${method}&url=${url}&agent=dev`)
  return body as unknown as Explained
}

const REQUESTS: readonly AgentRequest[] = [
  { method: 'POST', host: 'api.github.com', target: '/repos/acme/site/issues' },
  { method: 'DELETE', host: 'api.github.com', target: '/repos/acme/site/git/refs/heads%2Fx' },
  { method: 'DELETE', host: 'api.github.com', target: '/repos/acme/site' },
  { method: 'GET', host: 'api.github.com', target: '/no/such/operation' },
  { method: 'GET', host: 'api.github.com', target: '/repos/a/../b' },
  { method: 'POST', host: 'api.stripe.com', target: '/v1/payouts' },
  { method: 'DELETE', host: 'api.openai.com', target: '/v1/models/ft-1' },
  { method: 'GET', host: 'lacking.example', target: '/' },
  { method: 'GET', host: 'slack.com', target: '/api/chat.delete?channel=C&ts=1' },
  { method: 'PUT', host: 'api.github.com', target: '/repos/acme/site' },
  { method: 'GET', host: 'github.com', target: '/acme/site.git/info/refs?service=git-receive-pack' },
]

test.each(REQUESTS)('explain $method $target says what the live gateway does', async (request) => {
  const explained = await explain(request)
  const live = await agent.json(request)
  expect(explained.decision.verdict).toBe(live.status < 300 ? 'allow' : 'deny')
  if (live.status < 300) return
  // The agent gets the advice and the id of its record behind the reason.
  expect(String(live.body['message']).split(' Do not retry; ask')[0]).toBe(explained.decision.reason)
  if (live.status !== 403 || live.body['explain'] === undefined) return
  expect(live.body['action_type']).toBe(explained.action?.type)
  // The rules and how to permit the request are for users, who find them by these ids.
  const ids = [live.body['matched_permission'] ?? [], live.body['matched_policies'] ?? []].flat(2)
  expect(live.body['explain']).toBe(
    [...ids, `dashboard /#/traffic?record=${live.body['record_id']}`].join(', '),
  )
})

test('explain says hold where the live gateway holds', async () => {
  const merge: AgentRequest = {
    method: 'PUT',
    host: 'api.github.com',
    target: '/repos/acme/site/pulls/1/merge',
  }
  expect((await explain(merge)).decision.verdict).toBe('hold')
  const waiting = agent.json(merge)
  for (let isAnswered = false; !isAnswered; ) {
    const { body } = await laptop.api('GET', '/api/dashboard/proxy-approvals?status=pending')
    const card = (body['approvals'] as { id: string }[])[0]
    if (card === undefined) continue
    await laptop.api('POST', '/api/dashboard/proxy-approvals', { id: card.id, approved: false })
    isAnswered = true
  }
  expect((await waiting).body['error']).toBe('approval denied')
})

test('says that the body of a model request can add actions, which it does not see', async () => {
  const chat = { method: 'POST', host: 'api.openai.com', target: '/v1/chat/completions' }
  expect((await explain(chat)).text).toMatch(/^body {8}not evaluated here: .*provider/m)
  const issue = { method: 'POST', host: 'api.github.com', target: '/repos/acme/site/issues' }
  expect((await explain(issue)).text).not.toContain('not evaluated')
})

test('decides by the headers that the question states', async () => {
  const query = 'method=POST&url=https%3A%2F%2Fapi.github.com%2Frepos%2Facme%2Fsite%2Fissues&agent=dev'
  const verdictOf = async (more: string) => {
    const { body } = await laptop.api('GET', `/api/dashboard/explain?${query}${more}`)
    return (body as unknown as Explained).decision.verdict
  }
  expect(await verdictOf('')).toBe('allow')
  expect(await verdictOf('&headers=X-Preview%3A%20on')).toBe('deny')
  const broken = await laptop.api('GET', `/api/dashboard/explain?${query}&headers=nothing`)
  expect(broken.status).toBe(400)
})
