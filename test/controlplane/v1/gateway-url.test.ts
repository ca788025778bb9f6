import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { storedHeader } from '../../support/every-connector.ts'
import { replyCut, replyJson } from '../../support/recorder.ts'
import { at, caller } from '../routes/start.ts'
import { type ExecutionWorld, startExecutionWorld } from './execution-world.ts'
import type { TestAgent } from './world.ts'

/** One for each test; the gateway learns of all of them at once, because its stream takes seconds to come back. */
const AGENTS = 24
/** Far below the 30 s after which a gateway without its stream refuses actions of high risk. */
const LONGEST_CUT_MS = 10_000

let here: ExecutionWorld
let agent: TestAgent
const agents: TestAgent[] = []
let cutAtMs = Number.NEGATIVE_INFINITY
beforeAll(async () => {
  here = await startExecutionWorld()
  for (let at = 0; at < AGENTS; at++) agents.push(await here.world.agent())
  await here.applied()
})
afterAll(() => here?.[Symbol.asyncDispose]())

const setUrl = (gateway_url: string) =>
  here.world.admin('PUT', '/api/dashboard/settings', { settings: { gateway_url } })
const live = async () =>
  at((await here.world.admin('GET', '/api/dashboard/gateway')).body, 'gateways', 0, 'live')

beforeEach(async () => {
  here.upstream.answerWith(replyJson({ number: 41 }, 201))
  if (performance.now() - cutAtMs > LONGEST_CUT_MS) await mended()
  if ((await live()) !== null) await cut()
  const next = agents.pop()
  if (next === undefined) throw new Error(`there are more tests than ${AGENTS} agents`)
  agent = next
  await setUrl(here.gateway.url)
})
afterEach(() => setUrl(''))

async function mended(): Promise<void> {
  here.gateway.mend()
  cutAtMs = Number.POSITIVE_INFINITY
  await eventually('the gateway is back', async () => ((await live()) !== null ? true : null))
}

async function cut(): Promise<void> {
  here.gateway.cut()
  cutAtMs = performance.now()
  await eventually('the gateway is not connected', async () => ((await live()) === null ? true : null))
}

/** What an agent can send so that the card says the same. */
const OTHERS: readonly (readonly [name: string, value: string])[] = [
  ['Accept', 'application/vnd.github.raw+json'],
  ['Accept-Language', 'de'],
]

type Card = { readonly id: string; readonly agent: string }
type Sent = {
  readonly method: string
  readonly url: string
  readonly raw: readonly string[]
  readonly body: Buffer
}

function otherThan({ method, url, raw }: Sent, [name, value]: readonly [string, string]) {
  const kept = raw.filter((_, at) => raw[at - (at % 2)]?.toLowerCase() !== name.toLowerCase())
  return { method, path: url, headers: [...kept, name, value] }
}

/** Passes everything on to the gateway, each proxied request after `first`. */
async function frontOf(gateway: string, first: (sent: Sent) => Promise<void>) {
  const server = createServer(async (incoming, answer) => {
    const body = Buffer.concat(await incoming.toArray())
    const { method = '', url = '', rawHeaders } = incoming
    const headers = rawHeaders.filter((_, at) => rawHeaders[at - (at % 2)]?.toLowerCase() !== 'connection')
    if (url !== '/health') await first({ method, url, raw: headers, body })
    const out = request(gateway, { method, path: url, headers })
    out.on('error', () => answer.destroy())
    out.on('response', (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(answer)
    })
    out.end(body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const ISSUE = {
  type: 'codehost.issue.create',
  resource: { target: 'acme/site' },
  parameters: { title: 'über', labels: ['a'] },
}
const MERGE = { type: 'codehost.pr.merge', resource: { target: 'acme/site' }, parameters: { number: 7 } }
const seen = () => here.upstream.seen.length
const statusOf = async (id: string) => (await agent.call('GET', `/api/v1/actions/${id}`)).body

describe('a gateway that is not connected but answers at gateway_url', () => {
  test('carries an action out once, in the agent’s own name, with the stored credential and its own record', async () => {
    const action = await here.submit(agent, ISSUE)
    const before = seen()
    const answer = await here.execute(agent, action)
    expect(answer.body, answer.text).toEqual({
      executed: true,
      action_request_id: action.id,
      gateway_response: { status: 201, result: { number: 41 } },
    })
    expect(seen()).toBe(before + 1)
    const request = here.upstream.seen.at(-1)
    expect([request?.method, request?.target]).toEqual(['POST', '/repos/acme/site/issues'])
    expect(request?.header('host')).toBe('api.github.com')
    expect(request?.header(storedHeader('codehost')[0])).toBe(storedHeader('codehost')[1])
    expect(JSON.parse(request?.body.toString() ?? '')).toEqual({ title: 'über', labels: ['a'] })
    // Neither the agent's key nor the token goes further than the gateway.
    const wire = request?.rawHeaders.join('\n') ?? ''
    for (const secret of [
      agent.key,
      action.token,
      Buffer.from(`${agent.name}:${agent.key}`).toString('base64'),
    ])
      expect(wire).not.toContain(secret)
    expect(here.gateway.log() + here.world.plane.log()).not.toContain(agent.key)
    expect(await here.world.chain(action.id)).toEqual([
      'action.requested',
      'action.allowed',
      'action.executed',
    ])
    const [event] = await here.world.sql(
      "select details from audit_events where action_request_id = $1 and event_type = 'action.executed'",
      [action.id],
    )
    expect(event).toMatchObject({ details: { gateway_id: null, status: 201 } })
    const records = await eventually('the record', async () => {
      const { body } = await here.world.admin('GET', `/api/dashboard/traffic?agent=${agent.name}`)
      const list = body['traffic'] as Record<string, unknown>[]
      return list.length > 0 ? list : null
    })
    expect(records).toMatchObject([{ action_type: 'codehost.issue.create', decision: 'ALLOW', status: 201 }])
    const again = await here.execute(agent, action)
    expect([again.status, again.body['error']]).toEqual([
      409,
      'Token verification failed: nonce already used',
    ])
    expect(seen()).toBe(before + 1)
  })

  test('carries an action out without the token that the agent states in it', async () => {
    await mended()
    await here.permit('chat', 'chat.message.post', 'allow')
    await cut()
    const bodies: string[] = []
    await using front = await frontOf(here.gateway.url, async ({ body }) => {
      bodies.push(body.toString())
    })
    await setUrl(front.url)
    const canary = 'xoxb-canary-of-the-agent'
    const parameters = { channel: 'C1', text: 'hi', token: canary }
    const action = await here.submit(agent, {
      ...{ type: 'chat.message.post', resource: { target: 'C1' }, parameters },
    })
    const answer = await here.execute(agent, action)
    expect(answer.body['executed'], answer.text).toBe(true)
    expect(bodies).toEqual([expect.stringContaining('C1')])
    expect(bodies.join()).not.toContain(canary)
    const request = here.upstream.seen.at(-1)
    expect(request?.header('host')).toBe('slack.com')
    expect(`${request?.rawHeaders.join()}${request?.body.toString()}`).not.toContain(canary)
  })

  test('of 12 executes at once one reaches the upstream', async () => {
    const action = await here.submit(agent, ISSUE)
    const before = seen()
    const answers = await Promise.all(Array.from({ length: 12 }, () => here.execute(agent, action)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(11).fill(409)])
    expect(seen()).toBe(before + 1)
  })

  test('requires no second approval for the action of the token, and only for exactly that action', async () => {
    await mended()
    await here.permit('codehost', 'codehost.pr.*', 'require_approval')
    await cut()
    const action = await here.submit(agent, MERGE)
    const path = `/api/v1/approvals/${action.approval}/respond`
    const yes = await here.world.admin('POST', path, { decision: 'approve' })
    const answer = await here.execute(agent, { ...action, token: at(yes.body, 'decision_token') })
    expect(answer.body['executed'], answer.text).toBe(true)
    const cards = await here.world.admin('GET', '/api/dashboard/proxy-approvals?kind=hold')
    expect(cards.body['approvals']).toMatchObject([
      {
        ...{ agent: agent.name, status: 'approved' },
        responded_by: expect.stringMatching(new RegExp(`\\(${action.approval} of ${action.id}\\)$`)),
      },
    ])
    expect(await here.world.chain(action.id)).toEqual([
      ...['action.requested', 'action.pending_approval', 'approval.responded', 'action.executed'],
    ])
    // The pass is spent: nothing of it is left for another request.
    expect(await here.world.sql('select 1 from executions')).toEqual([])
  })

  test('holds what no person has approved: a person is asked at once, and the same token then works once', async () => {
    const action = await here.submit(agent, ISSUE)
    await mended()
    await here.permit('codehost', ISSUE.type, 'require_approval')
    await cut()
    const before = seen()
    const first = await here.execute(agent, action)
    expect(first.body, first.text).toMatchObject({
      ...{ executed: false, action_request_id: action.id, status: 'pending_approval' },
      approval: { id: expect.stringMatching(/^apr_/), status: 'pending' },
    })
    expect(first.status).toBe(200)
    const approval = at<string>(first.body, 'approval', 'id')
    const again = await here.execute(agent, action)
    expect(at(again.body, 'approval', 'id')).toBe(approval)
    expect(seen()).toBe(before)
    const recordsOf = async () =>
      at<Record<string, unknown>[]>(
        (await here.world.admin('GET', `/api/dashboard/traffic?agent=${agent.name}`)).body,
        'traffic',
      )
    const held = await eventually('the record', async () => {
      const list = await recordsOf()
      return list.length > 0 ? list : null
    })
    expect(held).toMatchObject([{ decision: 'HOLD', approval_id: approval, status: 403 }])
    const path = `/api/v1/approvals/${approval}/respond`
    const yes = await here.world.admin('POST', path, { decision: 'approve' })
    expect(yes.body['decision_token'], yes.text).toEqual(expect.any(String))
    const answers = await Promise.all(Array.from({ length: 6 }, () => here.execute(agent, action)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(5).fill(409)])
    expect(answers.find(({ status }) => status === 200)?.body['executed']).toBe(true)
    expect(seen()).toBe(before + 1)
    expect(await here.world.chain(action.id)).toEqual([
      ...['action.requested', 'action.allowed', 'action.pending_approval', 'approval.responded'],
      'action.executed',
    ])
    expect(await here.world.sql('select 1 from executions')).toEqual([])
    await mended()
    await here.permit('codehost', ISSUE.type, 'allow')
  })

  test('an approval of an execution releases no other request, whatever the card leaves out', async () => {
    await mended()
    await here.permit('codehost', MERGE.type, 'require_approval')
    await cut()
    for (const field of OTHERS) {
      const action = await here.submit(agent, MERGE)
      const path = `/api/v1/approvals/${action.approval}/respond`
      const yes = await here.world.admin('POST', path, { decision: 'approve' })
      const before = seen()
      let card = ''
      await using front = await frontOf(here.gateway.url, async (sent) => {
        // The agent sends this one while the execution is in progress.
        const other = request(here.gateway.url, otherThan(sent, field)).end(sent.body)
        other.on('error', () => undefined)
        card = await eventually('the card', async () => {
          const list = '/api/dashboard/proxy-approvals?kind=hold&status=pending'
          const cards = at<Card[]>((await here.world.admin('GET', list)).body, 'approvals')
          return cards.find((one) => one.agent === agent.name)?.id ?? null
        }).finally(() => other.destroy())
        expect(seen()).toBe(before)
        await here.world.admin('POST', '/api/dashboard/proxy-approvals', { id: card, approved: false })
      })
      await setUrl(front.url)
      const answer = await here.execute(agent, { ...action, token: at(yes.body, 'decision_token') })
      expect(answer.body['executed'], answer.text).toBe(true)
      expect(card).toMatch(/^apv_/)
      expect(seen()).toBe(before + 1)
    }
  })

  test('its denials and the upstream’s failures end the action, and the token is used up', async () => {
    const action = await here.submit(agent, ISSUE)
    const before = seen()
    here.upstream.answerWith(replyJson({ message: 'oops' }, 503))
    const failed = await here.execute(agent, action)
    expect([failed.status, failed.body['error']]).toEqual([
      502,
      'Execution failed: the upstream answered 503',
    ])
    here.upstream.answerWith(replyCut())
    const cutOff = await here.submit(agent, ISSUE)
    expect((await here.execute(agent, cutOff)).status).toBe(502)
    expect(seen()).toBe(before + 2)
    for (const { id } of [action, cutOff]) {
      expect((await statusOf(id))['status']).toBe('execution_failed')
      expect(await here.world.chain(id)).toEqual([
        'action.requested',
        'action.allowed',
        'action.execution_failed',
      ])
    }
  })

  test('an agent that the gateway no longer serves is refused there', async () => {
    const action = await here.submit(agent, ISSUE)
    const before = seen()
    // The gateway is cut off, so it has not heard of the new key.
    const rotated = await here.world.admin('PATCH', '/api/dashboard/agents', {
      agent_id: agent.id,
      action: 'rotate_key',
    })
    const call = caller(here.world.plane.url, { authorization: `Bearer ${at(rotated.body, 'api_key')}` })
    const answer = await here.execute({ ...agent, call }, action)
    expect(answer.status).toBe(502)
    expect(String(answer.body['error'])).toMatch(/^Execution failed: proxy authentication required/)
    expect(seen()).toBe(before)
  })

  test('decides a submission of an agent without a gateway by its rules, as it decides the execution', async () => {
    const made = await here.world.admin('POST', '/api/dashboard/permissions', {
      ...{ gateway_name: 'default/local', connector_type: 'codehost', decision: 'deny' },
      action_pattern: ISSUE.type,
    })
    expect(made.status, made.text).toBe(200)
    const resource = { provider: 'codehost', ...ISSUE.resource }
    const action_spec = { ...ISSUE, resource }
    const submitted = async () => (await agent.call('POST', '/api/v1/actions', { action_spec })).body
    const bound = await submitted()
    await here.world.sql('update agents set gateway_id = null where id = $1', [agent.id])
    await here.world.sql('update config_version set version = version + 1')
    const unbound = await submitted()
    await setUrl('')
    const withoutUrl = await submitted()
    const path = `/api/dashboard/permissions?permission_id=${at(made.body, 'id')}`
    expect((await here.world.admin('DELETE', path)).status).toBe(200)
    expect(bound).toMatchObject({ status: 'denied', decision_token: null })
    expect(unbound).toMatchObject({ status: 'denied', decision_token: null })
    expect(at(unbound, 'decision', 'reason')).toBe(at(bound, 'decision', 'reason'))
    expect(withoutUrl).toMatchObject({ status: 'allowed' })
  })

  test('serves agents of no gateway in particular, too', async () => {
    await here.world.sql('update agents set gateway_id = null where id = $1', [agent.id])
    await here.world.sql('update config_version set version = version + 1')
    const action = await here.submit(agent, ISSUE)
    const before = seen()
    const answer = await here.execute(agent, action)
    expect(answer.body['executed'], answer.text).toBe(true)
    expect(seen()).toBe(before + 1)
  })
})

describe('without a usable gateway_url the answer is 503 and the token stays good', () => {
  let fake: Server
  let hits: string[]
  const answering = (status: number, body: string) => () => {
    fake.removeAllListeners('request').on('request', (request, answer) => {
      hits.push(`${request.method} ${request.url} ${request.headers['proxy-authorization'] ?? ''}`)
      answer.writeHead(status, { 'content-type': 'application/json' }).end(body)
    })
    return `http://127.0.0.1:${(fake.address() as AddressInfo).port}`
  }
  beforeAll(async () => {
    fake = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => fake.once('listening', resolve))
  })
  beforeEach(() => {
    hits = []
  })
  afterAll(() => fake.close())

  test.each([
    ['none is set', () => '', /No process of the gateway default\/local is connected/],
    [
      'nothing listens there',
      () => 'http://127.0.0.1:9',
      /127\.0\.0\.1:9 cannot be reached \(ECONNREFUSED\)/,
    ],
    ['it is a metadata address', () => 'http://169.254.169.254', /metadata/],
    ['it is public and in clear', () => 'http://192.0.2.1:9443', /which requires https/],
    ['it is no web address', () => 'ftp://127.0.0.1', /must be an http or https URL/],
    ['the name does not exist', () => 'http://gateway.invalid:9443', /does not resolve/],
    ['something else answers', answering(200, '{"hello":1}'), /is not a gateway/],
    ['it redirects', answering(302, ''), /is not a gateway/],
    [
      'the gateway has no configuration',
      answering(503, '{"status":"not_ready","uptime_seconds":1}'),
      /the gateway has no configuration yet/,
    ],
  ])('when %s', async (_why, url, message) => {
    const action = await here.submit(agent, ISSUE)
    const before = seen()
    const set = url()
    // The settings refuse some of these themselves: they may come from an older version.
    await setUrl('')
    if (set !== '')
      await here.world.sql(
        "insert into settings (org_id, key, value) select id, 'gateway_url', to_jsonb($1::text) from orgs",
        [set],
      )
    const answer = await here.execute(agent, action)
    await here.world.sql("delete from settings where key = 'gateway_url'")
    expect([answer.status, answer.body['error']]).toEqual([503, 'No gateway available'])
    expect(answer.body['message']).toMatch(message)
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(seen()).toBe(before)
    // Nobody is given the agent's key to find out.
    expect(hits.filter((hit) => hit !== 'GET /health ')).toEqual([])
    await setUrl(here.gateway.url)
    expect((await here.execute(agent, action)).status).toBe(200)
  })
})

test('a connected gateway is preferred: the order goes over its stream', async () => {
  await mended()
  await setUrl('http://127.0.0.1:9')
  const action = await here.submit(agent, ISSUE)
  const answer = await here.execute(agent, action)
  expect(answer.body['executed'], answer.text).toBe(true)
})
