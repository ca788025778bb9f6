import { describe, expect, it } from 'vitest'
import { pinLines } from '../../../core/wire/gateway/pin-lines.ts'
import type { Answer } from '../../support/recorder.ts'
import { JSON_BODY, MERGE, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules, World } from './test-world.ts'

/** A code host whose states the test changes. */
type States = Record<string, unknown>

const provider = (states: States): Answer => {
  return (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const id = request.url === '/graphql' ? JSON.parse(Buffer.concat(chunks).toString()).variables.id : null
      const known = states[id ?? `${request.url}`]
      const body = id === null ? known : { data: { node: known ?? null } }
      response.writeHead(body === undefined ? 404 : 200, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(body ?? {}))
    })
  }
}

const HELD: Rules = { permissions: [['codehost.*', 'require_approval']] }

async function startAt(states: States, rules: Rules = HELD): Promise<World> {
  const world = await start(rules)
  world.upstream.answerLookUpsWith(provider(states))
  world.state.onHold = async () => ({ kind: 'approved', approvalId: 'apv_9', by: 'ann@example.com' })
  return world
}

const head = (sha: string, base = 'main') => ({ head: { sha }, base: { ref: base } })
const baseOf = (value: string | null) => ({
  ...{ action_type: 'codehost.pr.merge', state: 'base branch', value },
  fixed_by: value === null ? null : 'gateway',
})
const PULL = '/repos/acme/site/pulls/7'
const json = (method: string, target: string, body: unknown): TestExchangeInput => ({
  ...{ method, target, headers: JSON_BODY, body: JSON.stringify(body) },
})
const mutation = (text: string) =>
  json('POST', '/graphql', { query: `mutation { ${text} { clientMutationId } }` })

describe('the state that was approved', () => {
  it('is read with the credential of the connector, shown, and compared before the request is sent', async () => {
    const world = await startAt({ [PULL]: head('aaa') })
    const { reply } = await world.send(MERGE)
    expect(reply.status).toBe(200)
    expect(world.holds[0]?.pins).toEqual([
      { action_type: 'codehost.pr.merge', state: 'head commit', value: 'aaa', fixed_by: 'gateway' },
      baseOf('main'),
    ])
    expect(world.upstream.lookUps.map(({ target }) => target)).toEqual(Array(4).fill(PULL))
    expect(world.lookUps).toEqual(Array(4).fill('pin answered'))
    expect(world.records).toMatchObject([{ decision: 'ALLOW', note: 'approved' }])
  })

  it('makes the approval void when it changed, and the refusal says so', async () => {
    const states: States = { [PULL]: head('aaa') }
    const world = await startAt(states)
    world.state.onHold = async () => {
      states[PULL] = head('bbb')
      return { kind: 'approved', approvalId: 'apv_9', by: null }
    }
    const { reply } = await world.send(MERGE)
    expect(reply.status).toBe(403)
    expect(reply.json()).toMatchObject({ error: 'approval void', approval_id: 'apv_9' })
    expect(reply.text()).toContain('was aaa at the time of the approval and is now bbb')
    expect(world.upstream.seen).toEqual([])
    expect(world.records).toMatchObject([{ decision: 'DENY', reason: 'approval_void', approval_id: 'apv_9' }])
  })

  it.each([
    ['over REST', MERGE, PULL, head('aaa'), head('aaa', 'production')],
    [
      'over GraphQL',
      mutation('mergePullRequest(input: {pullRequestId: "PR_7", expectedHeadOid: "aaa"})'),
      'PR_7',
      { headRefOid: 'aaa', baseRefName: 'main' },
      { headRefOid: 'aaa', baseRefName: 'production' },
    ],
  ])(
    'makes the approval of a merge void when the branch to merge into changed, %s',
    async (_way, input, at, before, after) => {
      const states: States = { [at]: before }
      const world = await startAt(states)
      world.state.onHold = async () => {
        states[at] = after
        return { kind: 'approved', approvalId: 'apv_9', by: null }
      }
      const { reply } = await world.send(input)
      expect(reply.status).toBe(403)
      expect(reply.text()).toContain('The base branch of codehost.pr.merge was main')
      expect(world.upstream.seen).toEqual([])
    },
  )

  it('makes the approval void when it cannot be read again', async () => {
    const states: States = { [PULL]: head('aaa') }
    const world = await startAt(states)
    world.state.onHold = async () => {
      delete states[PULL]
      return { kind: 'approved', approvalId: 'apv_9', by: null }
    }
    expect((await world.send(MERGE)).reply.text()).toContain('could not be read again')
    expect(world.upstream.seen).toEqual([])
  })

  it('is part of what the approval is for: a request that comes back later finds none for another state', async () => {
    const states: States = { [PULL]: head('aaa') }
    const world = await startAt(states)
    await world.send(MERGE)
    await world.send(MERGE)
    states[PULL] = head('bbb')
    await world.send(MERGE)
    const [first, second, third] = world.holds.map(({ binding }) => binding)
    expect(second).toBe(first)
    expect(third).not.toBe(first)
  })

  it('is shown as not fixed where it cannot be read, and where nothing fixes it', async () => {
    const world = await startAt({})
    expect((await world.send(MERGE)).reply.status).toBe(200)
    expect(world.holds[0]?.pins).toEqual([
      { action_type: 'codehost.pr.merge', state: 'head commit', value: null, fixed_by: null },
      baseOf(null),
    ])
    expect(pinLines(world.holds[0] ?? {})).toEqual(Array(2).fill(expect.stringContaining('not fixed')))
    await world.send(json('POST', '/repos/acme/site/issues', { title: 'x' }))
    expect(world.holds[1]?.pins).toEqual([])
    expect(pinLines(world.holds[1] ?? {})).toEqual([expect.stringContaining('not fixed')])
  })

  it('is not fixed for an auto-merge, which GitHub performs later, also at a commit that is pushed later', async () => {
    const commit = 'a'.repeat(40)
    const world = await startAt(
      { PR_7: { headRefOid: commit, baseRefName: 'main' } },
      { ...HELD, connectors: [{ pins: 'send' }] },
    )
    const input = `{pullRequestId: "PR_7", expectedHeadOid: "${commit}"}`
    for (const own of ['{pullRequestId: "PR_7"}', input]) {
      const merge = mutation(`enablePullRequestAutoMerge(input: ${own})`)
      expect((await world.send(merge)).reply.status).toBe(200)
      const { pins, action_type } = world.holds.at(-1) ?? {}
      expect(action_type).toBe('codehost.pr.merge')
      expect(pins).toEqual([
        { action_type: 'codehost.pr.merge', state: 'head commit', value: null, fixed_by: null },
        baseOf(null),
      ])
      expect(world.upstream.seen.at(-1)?.body.toString()).toBe(merge.body)
    }
    expect(world.lookUps.filter((look) => look.startsWith('pin'))).toEqual([])
    expect(world.records).toMatchObject([{ note: 'approved' }, { note: 'approved' }])
  })

  it('is that of the request where the request names it', async () => {
    const world = await startAt({ [PULL]: head('aaa') })
    await world.send(json('PUT', MERGE.target ?? '', { sha: 'abc' }))
    expect(world.holds[0]?.pins).toEqual([
      { action_type: 'codehost.pr.merge', state: 'head commit', value: 'abc', fixed_by: 'request' },
      baseOf('main'),
    ])
    expect(world.upstream.lookUps).toHaveLength(2)
  })

  const REPOSITORY = '/repos/acme/site'
  it.each<readonly [string, string, States, TestExchangeInput, readonly string[]]>([
    [
      'a dispatch',
      'codehost.workflow.dispatch',
      { [`${REPOSITORY}/commits/heads/main`]: { sha: 'c1' } },
      json('POST', `${REPOSITORY}/actions/workflows/1/dispatches`, { ref: 'refs/heads/main' }),
      ['commit c1'],
    ],
    [
      'a deployment',
      'codehost.deployment.create',
      { [`${REPOSITORY}/commits/feature/x`]: { sha: 'c2' } },
      json('POST', `${REPOSITORY}/deployments`, { ref: 'feature/x' }),
      ['commit c2'],
    ],
    [
      'an update of a reference',
      'codehost.branch.update',
      { [`${REPOSITORY}/git/ref/heads/main`]: { object: { sha: 'c3' } } },
      json('PATCH', `${REPOSITORY}/git/refs/heads/main`, { sha: 'new' }),
      ['commit before c3'],
    ],
    [
      'a merge of branches',
      'codehost.branch.merge',
      { [`${REPOSITORY}/commits/main`]: { sha: 'b' }, [`${REPOSITORY}/commits/topic`]: { sha: 't' } },
      json('POST', `${REPOSITORY}/merges`, { base: 'main', head: 'topic' }),
      ['commit to merge t', 'commit before b'],
    ],
    [
      'a release of a new tag',
      'codehost.release.create',
      { [`${REPOSITORY}/commits/HEAD`]: { sha: 'h' } },
      json('POST', `${REPOSITORY}/releases`, { tag_name: 'v1' }),
      ['commit h'],
    ],
    [
      'a release of a tag',
      'codehost.release.create',
      {
        [`${REPOSITORY}/git/ref/tags/v1`]: { object: { sha: 'tag' } },
        [`${REPOSITORY}/commits/HEAD`]: { sha: 'h' },
      },
      json('POST', `${REPOSITORY}/releases`, { tag_name: 'v1' }),
      ['commit tag'],
    ],
    [
      'an update of a release',
      'codehost.release.update',
      { [`${REPOSITORY}/releases/5`]: { updated_at: '2026-01-01T00:00:00Z' } },
      json('PATCH', `${REPOSITORY}/releases/5`, { draft: false }),
      ['last change 2026-01-01T00:00:00Z'],
    ],
    [
      'a merge by node id',
      'codehost.pr.merge',
      { PR_1: { headRefOid: 'n1', baseRefName: 'main' } },
      mutation('mergePullRequest(input: {pullRequestId: "PR_1"})'),
      ['head commit n1', 'base branch main'],
    ],
    [
      'a deletion by node id',
      'codehost.branch.delete',
      { REF_1: { target: { oid: 'n2' } } },
      mutation('deleteRef(input: {refId: "REF_1"})'),
      ['commit before n2'],
    ],
  ])('is known for %s', async (_name, type, states, input, wanted) => {
    const world = await startAt(states)
    const { reply } = await world.send(input)
    expect(world.holds[0]?.action_type).toBe(type)
    expect(world.holds[0]?.pins?.map(({ state, value }) => `${state} ${value}`)).toEqual(wanted)
    expect(reply.status).toBe(200)
  })
})

describe('a connector with pins: send', () => {
  const SENDING: Rules = { ...HELD, connectors: [{ pins: 'send' }] }

  it.each([
    ['without a body', MERGE, '{"sha":"aaa"}'],
    ['with an empty object', json('PUT', MERGE.target ?? '', {}), '{"sha":"aaa"}'],
    [
      'with members, which stay as they are',
      { ...MERGE, headers: JSON_BODY, body: ' {"merge_method": "squash", "big": 12345678901234567890}' },
      '{"sha":"aaa","merge_method": "squash", "big": 12345678901234567890}',
    ],
  ])('completes a merge %s', async (_name, input, wanted) => {
    const world = await startAt({ [PULL]: head('aaa') }, SENDING)
    expect((await world.send(input)).reply.status).toBe(200)
    const [seen] = await world.upstream.received(1)
    expect(seen?.body.toString()).toBe(wanted)
    expect(seen?.header('content-type')).toBe('application/json')
    expect(seen?.header('content-length')).toBe(String(wanted.length))
    expect(world.records).toMatchObject([{ note: 'approved; the gateway added sha to the request' }])
  })

  it('completes a merge by GraphQL with the commit, so that the provider refuses any other', async () => {
    const commit = 'a'.repeat(40)
    const world = await startAt({ PR_7: { headRefOid: commit } }, SENDING)
    const query = 'mutation { mergePullRequest(input: {pullRequestId: "PR_7"}) { clientMutationId } }'
    expect((await world.send(json('POST', '/graphql', { query }))).reply.status).toBe(200)
    const [seen] = await world.upstream.received(1)
    const wanted = JSON.stringify({
      query: query.replace('{pullRequestId', `{expectedHeadOid: "${commit}", pullRequestId`),
    })
    expect(seen?.body.toString()).toBe(wanted)
    expect(seen?.header('content-length')).toBe(String(wanted.length))
    expect(world.records).toMatchObject([
      { note: 'approved; the gateway added expectedHeadOid to the request' },
    ])
  })

  it('completes no request that it cannot read, that names the state, or that was not approved', async () => {
    const world = await startAt({ [PULL]: head('aaa') }, SENDING)
    await world.send(json('PUT', MERGE.target ?? '', { sha: 'mine' }))
    await world.send(json('PUT', MERGE.target ?? '', { sha: null }))
    world.apply({ connectors: [{ pins: 'send' }], permissions: [['codehost.*', 'allow']] })
    await world.send(MERGE)
    expect(world.upstream.seen.map(({ body }) => body.toString())).toEqual([
      '{"sha":"mine"}',
      '{"sha":null}',
      '',
    ])
  })
})
