import { describe, expect, it } from 'vitest'
import { JSON_BODY, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules } from './test-world.ts'

const denying = (condition: string): Rules => ({
  permissions: [['codehost.*', 'allow']],
  policies: [{ document: { rules: [{ name: 'r', conditions: [condition], decision: 'deny' }] } }],
})
const mutation = (text: string): TestExchangeInput => ({
  ...{ method: 'POST', target: '/graphql', headers: JSON_BODY },
  body: JSON.stringify({ query: `mutation { ${text} { clientMutationId } }` }),
})
const BY_ID: ReadonlyArray<readonly [string, TestExchangeInput]> = [
  ['PUT /repositories/7', { method: 'PUT', target: '/repositories/1296269/pulls/7/merge' }],
  ['mergePullRequest', mutation('mergePullRequest(input: {pullRequestId: "PR_1"})')],
  ['deleteRef', mutation('deleteRef(input: {refId: "REF_1"})')],
  [
    'createCommitOnBranch',
    mutation(
      'createCommitOnBranch(input: {branch: {id: "REF_1"}, expectedHeadOid: "a", message: {headline: "m"}})',
    ),
  ],
]

describe('a target that is given by an id', () => {
  it.each(BY_ID)('is unknown, so that conditions tighten, behind has() too: %s', async (_name, input) => {
    for (const condition of [
      'resource.target == "acme/prod"',
      'has(resource.target) && resource.target == "acme/prod"',
      'has(resource.account) && resource.account == "acme"',
      '!has(resource.target)',
    ]) {
      const world = await start(denying(condition))
      const { reply } = await world.send(input)
      expect(reply.status, condition).toBe(403)
      const text = Buffer.concat(reply.chunks).toString()
      if (condition.includes('has(')) expect(text).toContain('id')
      expect(text).not.toMatch(/guard|has\(\)/i)
      expect(world.upstream.seen).toEqual([])
    }
  })

  it('does not apply to a request without a target', async () => {
    const world = await start(denying('has(resource.target) && resource.target == "acme/prod"'))
    expect((await world.send({ method: 'GET', target: '/user' })).reply.status).toBe(200)
    expect((await world.send({ method: 'GET', target: '/repos/acme/site/issues' })).reply.status).toBe(200)
    expect((await world.send({ method: 'GET', target: '/repos/acme/prod/issues' })).reply.status).toBe(403)
  })
})
