import { describe, expect, it } from 'vitest'
import { packOf, pushBody } from '../../support/git-pack.ts'
import type { Answer } from '../../support/recorder.ts'
import { JSON_BODY, start } from './pipeline-world.ts'
import { STARTER } from './starter-rules.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import { type Rules, SECRET, type World } from './test-world.ts'

const NONE = '0'.repeat(40)
const [MERGED, TIP, HEAD, OF_FORK, GONE] = ['a', 'b', 'c', 'd', 'e'].map((digit) => digit.repeat(40)) as [
  string,
  string,
  string,
  string,
  string,
]

/** Commits by their comparison with the default branch, and the branches that end with them. */
const STATUS: Readonly<Record<string, string>> = {
  ...{ [MERGED]: 'behind', [TIP]: 'identical', [HEAD]: 'ahead', [OF_FORK]: 'diverged' },
}
const BRANCHES: Readonly<Record<string, readonly object[]>> = { [HEAD]: [{ name: 'feature' }], [OF_FORK]: [] }

const provider: Answer = (request, response) => {
  const { pathname } = new URL(`http://provider${request.url}`)
  const sha = /[0-9a-f]{40}/.exec(pathname)?.[0] ?? ''
  const status = STATUS[sha]
  const body = pathname.includes('/compare/HEAD...') ? status && { status } : BRANCHES[sha]
  response.writeHead(body === undefined ? 404 : 200, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(body ?? { message: 'Not Found' }))
}

async function startAt(rules: Rules): Promise<World> {
  const world = await start(rules)
  world.upstream.answerLookUpsWith(provider)
  world.state.onHold = async () => ({ kind: 'denied', approvalId: 'apv_1', note: null })
  return world
}

const branch = (sha: unknown, target = '/repos/acme/site/git/refs'): TestExchangeInput => ({
  ...{ method: 'POST', target, headers: JSON_BODY },
  body: JSON.stringify({ ref: 'refs/heads/x', sha }),
})
const push = (after: string, ref = 'refs/heads/x'): TestExchangeInput => ({
  ...{ method: 'POST', host: 'github.com', target: '/acme/site.git/git-receive-pack' },
  headers: ['Content-Type', 'application/x-git-receive-pack-request'],
  body: pushBody([{ before: NONE, after, ref }], packOf([])),
})
const asked = ({ upstream }: World) =>
  upstream.lookUps.map(({ method, target }) => `${method} ${target}`).sort()

describe('a new branch under the rules of the first start', () => {
  it.each([
    ['a commit of the default branch', MERGED, 200],
    ['the head of the default branch', TIP, 200],
    ['the head of another branch', HEAD, 200],
    ['a commit of a pull request from a fork', OF_FORK, 403],
    ['a commit that the provider does not show', GONE, 403],
    ['a commit that is no full id', 'refs/pull/7/head', 403],
    ['two commits', [TIP, OF_FORK], 403],
  ])('at %s', async (_what, sha, status) => {
    const world = await startAt(STARTER)
    const { reply } = await world.send(branch(sha))
    expect(reply.status).toBe(status)
    expect(world.upstream.seen).toHaveLength(status === 200 ? 1 : 0)
    expect(world.records).toHaveLength(1)
    const [record] = world.records
    expect(record).toMatchObject({ action_type: 'codehost.branch.create' })
    expect(record?.effects ?? []).toEqual(status === 200 ? [] : ['code_execution'])
    expect(world.holds.map(({ effects }) => effects)).toEqual(status === 200 ? [] : [['code_execution']])
  })

  it('is looked up once in a while, with the credential of the connector, and counted', async () => {
    const world = await startAt(STARTER)
    await world.send(branch(HEAD))
    await world.send(branch(HEAD))
    expect(asked(world)).toEqual([
      `GET /repos/acme/site/commits/${HEAD}/branches-where-head`,
      `GET /repos/acme/site/compare/HEAD...${HEAD}?per_page=1&page=2`,
    ])
    expect(world.lookUps.toSorted()).toEqual([
      ...['branches_of_commit answered', 'branches_of_commit kept'],
      ...['commit_on_default_branch answered', 'commit_on_default_branch kept'],
    ])
    expect(world.upstream.lookUps[0]?.header('authorization')).toBe(`token ${SECRET}`)
  })

  it('says on the card whether the provider denied it or did not answer', async () => {
    const world = await startAt(STARTER)
    await world.send(branch(OF_FORK))
    expect(JSON.stringify(world.holds[0])).toContain('The commit is on no branch of the repository')
    await world.send(branch(GONE))
    expect(JSON.stringify(world.holds[1])).toContain('no look-up at the provider has shown')
  })

  it('is held over GraphQL, where no look-up tells the repository of the commit', async () => {
    for (const text of [
      `createRef(input: {repositoryId: "R_1", name: "refs/heads/x", oid: "${TIP}"})`,
      `createLinkedBranch(input: {issueId: "I_1", name: "x", oid: "${TIP}"})`,
      `updateRefs(input: {repositoryId: "R_1", refUpdates: [{name: "refs/heads/x", beforeOid: "${NONE}", afterOid: "${TIP}"}]})`,
    ]) {
      const world = await startAt(STARTER)
      const query = `mutation { ${text} { clientMutationId } }`
      const body = JSON.stringify({ query })
      const { reply } = await world.send({ method: 'POST', target: '/graphql', headers: JSON_BODY, body })
      expect(reply.status, text).toBe(403)
      expect(world.upstream.seen).toEqual([])
      expect(world.records[0]?.effects, text).toContain('code_execution')
    }
  })
})

describe('a push that sends no objects', () => {
  it.each([
    ['a commit of the default branch', MERGED, 200],
    ['the head of another branch', HEAD, 200],
    ['a commit of a pull request from a fork', OF_FORK, 403],
    ['a commit that the provider does not show', GONE, 403],
  ])('to create a branch at %s', async (_what, sha, status) => {
    const world = await startAt(STARTER)
    const { reply } = await world.send(push(sha))
    expect(reply.status).toBe(status)
    expect(world.records[0]?.effects ?? []).toEqual(status === 200 ? [] : ['code_execution'])
    expect(asked(world)[0]).toBe(`GET /repos/acme/site/commits/${sha}/branches-where-head`)
  })
})

const write = (method: string, target: string, body: object): TestExchangeInput => ({
  ...{ method, target: `/repos/acme/site/${target}`, headers: JSON_BODY },
  body: JSON.stringify(body),
})
/** Writes beside a new branch that take a commit of the server, by the name of the action. */
const WRITES: Readonly<Record<string, (sha: unknown) => TestExchangeInput>> = {
  'branch.update': (sha) => write('PATCH', 'git/refs/heads/x', { sha }),
  'branch.merge': (sha) => write('POST', 'merges', { base: 'main', head: sha }),
  'release.update': (sha) => write('PATCH', 'releases/1', { draft: false, target_commitish: sha }),
  'release.create': (sha) => write('POST', 'releases', { tag_name: 'v1', target_commitish: sha }),
}
const DENIES_CODE: Rules = {
  permissions: [['codehost.*', 'allow']],
  policies: [
    {
      document: {
        rules: [{ name: 'r', conditions: ['"code_execution" in action.effects'], decision: 'deny' }],
      },
    },
  ],
}

describe.each(Object.entries(WRITES))('%s under a rule about code_execution', (name, request) => {
  it.each([
    ['a commit of the default branch', MERGED, 200],
    ['the head of another branch', HEAD, 200],
    ['a commit of a pull request from a fork', OF_FORK, 403],
    ['a commit that the provider does not show', GONE, 403],
    ['a commit that is written otherwise', ` ${OF_FORK.toUpperCase()}^0`, 403],
    ['two commits', [TIP, OF_FORK], 403],
  ])('at %s', async (_what, sha, status) => {
    const world = await startAt(DENIES_CODE)
    expect((await world.send(request(sha))).reply.status).toBe(status)
    expect(world.upstream.seen).toHaveLength(status === 200 ? 1 : 0)
    expect(world.records).toHaveLength(1)
    expect(world.records[0]?.action_type).toBe(`codehost.${name}`)
    expect(world.records[0]?.effects?.includes('code_execution') === true).toBe(status === 403)
  })
})

it.each(['branch.merge', 'release.create', 'release.update'])(
  '%s of a branch needs no look-up',
  async (name) => {
    const world = await startAt(DENIES_CODE)
    const request = WRITES[name]?.('feature')
    if (request === undefined) throw new Error(name)
    expect((await world.send(request)).reply.status).toBe(200)
    expect(asked(world)).toEqual([])
  },
)

it.each([
  `updateRef(input: {refId: "R_1", oid: "${OF_FORK}"})`,
  `updateRefs(input: {repositoryId: "R_1", refUpdates: [{name: "refs/heads/x", afterOid: "${OF_FORK}"}]})`,
  `updateRefs(input: {repositoryId: "R_1", refUpdates: [{name: "refs/heads/x", beforeOid: "${TIP}", afterOid: "${OF_FORK}"}]})`,
  `mergeBranch(input: {repositoryId: "R_1", base: "main", head: "${OF_FORK}"})`,
])('has the class over GraphQL: %s', async (text) => {
  const world = await startAt(DENIES_CODE)
  const body = JSON.stringify({ query: `mutation { ${text} { clientMutationId } }` })
  const { reply } = await world.send({ method: 'POST', target: '/graphql', headers: JSON_BODY, body })
  expect(reply.status).toBe(403)
  expect(world.upstream.seen).toEqual([])
  expect(world.records[0]?.effects).toContain('code_execution')
})

it('sends no look-up where no rule reads effect classes', async () => {
  const world = await startAt({ permissions: [['codehost.*', 'allow']] })
  expect((await world.send(branch(OF_FORK))).reply.status).toBe(200)
  expect((await world.send(push(OF_FORK))).reply.status).toBe(200)
  expect(asked(world)).toEqual([])
})
