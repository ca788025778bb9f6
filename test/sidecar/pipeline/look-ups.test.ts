import { describe, expect, it } from 'vitest'
import type { Answer } from '../../support/recorder.ts'
import { JSON_BODY, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import { type Rules, SECRET, type World } from './test-world.ts'

/** Look-ups of one connector in a minute. */
const PER_MINUTE = 120

/** A code host that knows one repository, two issues (8 is a pull request) and a few nodes. */
const PROVIDER: Readonly<Record<string, unknown>> = {
  'GET /repositories/7': { id: 7, full_name: 'acme/prod' },
  'GET /repositories/8': { id: 8, full_name: 'acme/site' },
  'GET /organizations/3': { login: 'acme' },
  'GET /repos/acme/site/issues/7': { number: 7 },
  'GET /repos/acme/site/issues/8': { number: 8, pull_request: { url: 'x' } },
  'GET /repositories/8/issues/8': { number: 8, pull_request: { url: 'x' } },
  PR_prod: { __typename: 'PullRequest', repository: { nameWithOwner: 'Acme/Prod' } },
  PR_site: { __typename: 'PullRequest', repository: { nameWithOwner: 'acme/site' } },
  I_site: { __typename: 'Issue', repository: { nameWithOwner: 'acme/site' } },
  U_1: { __typename: 'User', login: 'acme' },
}

const provider: Answer = (request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const text = Buffer.concat(chunks).toString()
    const id = request.url === '/graphql' ? JSON.parse(text).variables?.id : undefined
    const known = PROVIDER[id ?? `${request.method} ${request.url}`]
    const body = id === undefined ? known : { data: { node: known ?? null } }
    response.writeHead(body === undefined ? 404 : 200, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(body ?? {}))
  })
}

async function startAt(rules: Rules): Promise<World> {
  const world = await start(rules)
  world.upstream.answerLookUpsWith(provider)
  return world
}

const asked = ({ upstream }: World) => upstream.lookUps.map(({ method, target }) => `${method} ${target}`)
const sent = ({ upstream }: World) => upstream.seen.map(({ method, target }) => `${method} ${target}`)

const guarding = (target: string): Rules => ({
  permissions: [['codehost.*', 'allow']],
  policies: [
    {
      document: { rules: [{ name: 'r', conditions: [`resource.target == "${target}"`], decision: 'deny' }] },
    },
  ],
})
const mutation = (text: string): TestExchangeInput => ({
  ...{ method: 'POST', target: '/graphql', headers: JSON_BODY },
  body: JSON.stringify({ query: `mutation { ${text} { clientMutationId } }` }),
})
const closing = (number: number, target = `/repos/acme/site/issues/${number}`): TestExchangeInput => ({
  ...{ method: 'PATCH', target, headers: JSON_BODY },
  body: '{"state":"closed"}',
})

describe('a target that is given by an id', () => {
  it('is looked up with the credential of the connector, and decided by', async () => {
    const world = await startAt(guarding('acme/prod'))
    const denied = await world.send({ method: 'PUT', target: '/repositories/7/pulls/7/merge' })
    expect(denied.reply.status).toBe(403)
    expect(world.records[0]?.audit?.requested).toMatchObject({ resource: { target: 'acme/prod' } })
    expect([asked(world), sent(world)]).toEqual([['GET /repositories/7'], []])
    expect(world.upstream.lookUps[0]?.header('authorization')).toBe(`token ${SECRET}`)
    const passed = await world.send({ method: 'PUT', target: '/repositories/8/pulls/7/merge' })
    expect(passed.reply.status).toBe(200)
    expect(asked(world)).toEqual(['GET /repositories/7', 'GET /repositories/8'])
    expect(sent(world)).toEqual(['PUT /repositories/8/pulls/7/merge'])
    // The gateway's own reads are counted, and are no actions of the agent.
    expect(world.records.map(({ path }) => path)).toEqual([
      '/repositories/7/pulls/7/merge',
      '/repositories/8/pulls/7/merge',
    ])
    expect(world.lookUps).toEqual(['repository answered', 'repository answered'])
  })

  it('is looked up once while its answer is kept', async () => {
    const world = await startAt(guarding('acme/prod'))
    const input = { method: 'PUT', target: '/repositories/8/pulls/7/merge' }
    await Promise.all([world.send(input), world.send(input)])
    await world.send(input)
    expect(asked(world)).toEqual(['GET /repositories/8'])
    expect(world.lookUps).toContain('repository kept')
  })

  it.each([
    ['PR_prod', 403, 'the spelling of the provider'],
    ['PR_site', 200, 'another repository'],
    ['PR_gone', 403, 'no answer'],
    ['U_1', 403, 'a user, who is no target'],
  ])('is found behind the node id %s: %i, %s', async (id, status) => {
    const world = await startAt(guarding('acme/prod'))
    const { reply } = await world.send(mutation(`mergePullRequest(input: {pullRequestId: "${id}"})`))
    expect(reply.status).toBe(status)
  })

  it('stays unknown where ids lead to several repositories, or an id and a name differ', async () => {
    const world = await startAt(guarding('acme/other'))
    for (const [text, status] of [
      ['addSubIssue(input: {issueId: "I_site", subIssueId: "I_site"})', 200],
      ['addSubIssue(input: {issueId: "PR_prod", ids: ["I_site"]})', 403],
      ['createCommitOnBranch(input: {branch: {id: "I_site", repositoryNameWithOwner: "acme/site"}})', 200],
      ['createCommitOnBranch(input: {branch: {id: "PR_prod", repositoryNameWithOwner: "acme/site"}})', 403],
      ['createCommitOnBranch(input: {branch: {repositoryNameWithOwner: "acme/site"}})', 200],
      ['createCommitOnBranch(input: {branch: {repositoryNameWithOwner: "acme/other"}})', 403],
    ] as const) {
      expect((await world.send(mutation(text))).reply.status, text).toBe(status)
    }
  })

  it('causes no look-up where no rule reads the target, nor where the request is denied all the same', async () => {
    const open = await startAt({ permissions: [['codehost.*', 'allow']] })
    await open.send({ method: 'PUT', target: '/repositories/7/pulls/7/merge' })
    expect([asked(open), sent(open)]).toEqual([[], ['PUT /repositories/7/pulls/7/merge']])
    const closed = await startAt({ permissions: [['codehost.*', 'deny']] })
    await closed.send({ method: 'PUT', target: '/repositories/7/pulls/7/merge' })
    expect([asked(closed), sent(closed)]).toEqual([[], []])
  })

  it('is on the card of a held request', async () => {
    const world = await startAt({ permissions: [['codehost.*', 'require_approval']] })
    await world.send({ method: 'PUT', target: '/repositories/7/pulls/7/merge' })
    expect(world.holds[0]).toMatchObject({ action_type: 'codehost.pr.merge', target: 'acme/prod' })
  })

  it('is looked up a bounded number of times in a minute, and is unknown beyond', async () => {
    const world = await startAt(guarding('acme/prod'))
    for (let n = 0; n <= PER_MINUTE; n++) {
      await world.send(mutation(`mergePullRequest(input: {pullRequestId: "PR_${n}"})`))
    }
    expect(asked(world)).toHaveLength(PER_MINUTE)
    expect(world.lookUps.at(-1)).toBe('node limited')
  })

  it('is unknown where the provider answers with something else, or sends the gateway elsewhere', async () => {
    const world = await startAt(guarding('acme/prod'))
    const input = { method: 'PUT', target: '/repositories/8/pulls/7/merge' }
    for (const [status, body] of [
      [200, '{"full_name":"acme/site'],
      [200, '{"full_name":null}'],
      [200, `{"full_name":"acme/site","x":"${'x'.repeat(1024 * 1024)}"}`],
      [301, '{"full_name":"acme/site"}'],
      [404, '{"full_name":"acme/site"}'],
      [200, '{"full_name":"acme/site/prod"}'],
    ] as const) {
      world.upstream.answerLookUpsWith((_request, response) => {
        response.writeHead(status, { 'Content-Type': 'application/json', Location: '/repositories/9' })
        response.end(body)
      })
      expect((await world.send(input)).reply.status, body.slice(0, 40)).toBe(403)
    }
    expect([asked(world), sent(world)]).toEqual([Array(6).fill('GET /repositories/8'), []])
  })
})

describe('an operation on an issue whose number may be that of a pull request', () => {
  const denyingPull: Rules = {
    permissions: [
      ['codehost.*', 'allow'],
      ['codehost.pr.close', 'deny'],
    ],
  }

  it('is also one on the pull request, whose verdict stands', async () => {
    const world = await startAt(denyingPull)
    expect((await world.send(closing(8))).reply.status).toBe(403)
    expect(world.records[0]).toMatchObject({
      action_type: 'codehost.issue.close',
      actions: ['codehost.issue.close', 'codehost.pr.close'],
    })
    expect((await world.send(closing(7))).reply.status).toBe(200)
    expect(world.records[1]).toMatchObject({ action_type: 'codehost.issue.close', actions: null })
    expect((await world.send(closing(8, '/repositories/8/issues/8'))).reply.status).toBe(403)
  })

  it('counts as one when the provider does not answer', async () => {
    const world = await startAt(denyingPull)
    const { reply } = await world.send(closing(99))
    expect(reply.status).toBe(403)
    expect(reply.text()).toContain('the look-up at the provider failed')
    expect([asked(world), sent(world)]).toEqual([['GET /repos/acme/site/issues/99'], []])
  })

  it('is asked anew while it is an issue: an issue can be made a pull request', async () => {
    const world = await startAt(denyingPull)
    for (const number of [7, 7, 8, 8]) await world.send(closing(number))
    expect(asked(world)).toEqual([
      'GET /repos/acme/site/issues/7',
      'GET /repos/acme/site/issues/7',
      'GET /repos/acme/site/issues/8',
    ])
  })

  it('is not asked for where both have the same verdict', async () => {
    const world = await startAt({ permissions: [['codehost.*', 'allow']] })
    await world.send(closing(8))
    expect([asked(world), sent(world)]).toEqual([[], ['PATCH /repos/acme/site/issues/8']])
    expect(world.records[0]).toMatchObject({ action_type: 'codehost.issue.close', candidates: null })
    const closed = await startAt({ permissions: [['codehost.issue.close', 'deny']] })
    await closed.send(closing(8))
    expect([asked(closed), sent(closed)]).toEqual([[], []])
  })
})
