import { describe, expect, it } from 'vitest'
import { expectRefused, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'

function guarded(condition: string) {
  const rules = [{ name: 'guard', conditions: [condition], decision: 'deny' }]
  return start({ permissions: [['codehost.*', 'allow']], policies: [{ document: { scope: {}, rules } }] })
}

const graphql = (query: string): TestExchangeInput => ({
  method: 'POST',
  target: '/graphql',
  headers: ['Content-Type', 'application/json'],
  body: JSON.stringify({ query }),
})

const PROD: readonly (readonly [string, TestExchangeInput])[] = [
  ['REST', { method: 'DELETE', target: '/repos/ACME/Prod' }],
  ['REST in another spelling', { method: 'PUT', target: '/repos/aCME/pROD/pulls/7/merge' }],
  ['REST with escapes', { method: 'GET', target: '/repos/%41cme/Pro%44/issues' }],
  ['REST with a suffix', { method: 'GET', target: '/repos/acme/Prod.git/issues' }],
  ['git', { method: 'GET', host: 'github.com', target: '/Acme/Prod.git/info/refs?service=git-upload-pack' }],
  [
    'git with a suffix in capitals',
    { method: 'GET', host: 'github.com', target: '/Acme/Prod.GIT/info/refs?service=git-upload-pack' },
  ],
  [
    'GraphQL',
    graphql('{ repository(owner: "ACME", name: "Prod") { issues(first: 3) { nodes { title } } } }'),
  ],
  [
    'GraphQL with variables',
    graphql('query($o: String = "aCME") { repository(owner: $o, name: "PROD") { id } }'),
  ],
]

describe('a rule about one repository', () => {
  it.each(PROD)('holds for every spelling that the code host takes for it: %s', async (_name, request) => {
    for (const condition of [
      'resource.target == "acme/prod"',
      'resource.target in ["ACME/Prod"]',
      'parameters.owner == "Acme" && parameters.repo == "Prod"',
      'resource.target.startsWith("acme/")',
    ]) {
      const world = await guarded(condition)
      const exchange = await world.send(request)
      expect(exchange.reply.status).toBe(403)
      expectRefused(world)
    }
  })

  it('leaves other repositories alone, and the bytes that are forwarded', async () => {
    const world = await guarded('resource.target == "acme/prod"')
    const target = '/repos/ACME/Site/issues'
    expect((await world.send({ method: 'GET', target })).reply.status).toBe(200)
    expect(world.upstream.seen[0]?.target).toBe(target)
  })
})
