import { describe, expect, it } from 'vitest'
import { expectRefused, start } from './pipeline-world.ts'

const world = (domains: string[] = ['git.one.test']) =>
  start({
    connectors: [{ domains, baseUrl: 'https://ghe.test/api/v3' }],
    permissions: [
      ['codehost.*', 'allow'],
      ['codehost.pr.merge', 'deny'],
      ['codehost.repo.delete', 'deny'],
    ],
  })

describe('an operation that is denied at an instance below a path', () => {
  it.each([
    ['PUT', '/api/v3/repos/o/r/pulls/1/merge', 'codehost.pr.merge'],
    ['PUT', '/api/v3/repos/O/r.git/pulls/1/merge', 'codehost.pr.merge'],
    ['POST', '/api/v3/repos/o/r/pulls/1/merge', 'codehost.pr.merge'],
    ['DELETE', '/api/v3/repos/o/r', 'codehost.repo.delete'],
    ['PUT', '/repos/o/r/pulls/1/merge', 'codehost.pr.merge'],
    ['DELETE', '/repos/o/r', 'codehost.repo.delete'],
  ])('is denied under another name of the instance: %s %s', async (method, target, type) => {
    const here = await world()
    const { reply } = await here.send({ method, host: 'git.one.test', target })
    expect(reply.status).toBe(403)
    expectRefused(here)
    expect(here.records[0]).toMatchObject({ decision: 'DENY', action_type: type })
  })

  it.each([
    '/api/v3%2Frepos/o/r/pulls/1/merge',
    '/api//v3/repos/o/r/pulls/1/merge',
    '/api/v3/./repos/o/r/pulls/1/merge',
    '/api/v3;x/repos/o/r/pulls/1/merge',
    '/api/v3/repos/o/r/pulls/1/merge/',
    '/API/v3/repos/o/r/pulls/1/merge',
    '/api/V3/repos/o/r/pulls/1/merge',
    '/api/v3/Repos/o/r/pulls/1/merge',
    '/api/v3%20/repos/o/r/pulls/1/merge',
    '/%20api/v3/repos/o/r/pulls/1/merge',
    '/api%2Fv3/repos/o/r/pulls/1/merge',
    '/api/v3%252Frepos/o/r/pulls/1/merge',
    '/api%5Cv3/repos/o/r/pulls/1/merge',
    '/%41pi/v3/repos/o/r/pulls/1/merge',
    '/Api/V3/Repos/o/r/pulls/1/Merge',
    '/api;a=b/v3/repos/o/r/pulls/1/merge',
    '/api/%76%33/repos/o/r/pulls/1/merge',
    '/api/V3/repos/o/r/pulls/1/merge/',
    '/api/v3%00/repos/o/r/pulls/1/merge',
    '/api/v3/repos/o/r/pulls/1/merge%3Fx=1',
    '/api/v3/repos/o/r/pulls/1/merge%23',
    '/api/v3/repos/o/r/pulls/1/merge%3F/x',
    '/api/v3/repos/o/r/pulls/1/merge%253Fx',
    '/api/v3%2Frepos/o/r/pulls/1/merge%23x',
  ])('is not reached by %s under a milder name', async (target) => {
    for (const host of ['git.one.test', 'ghe.test']) {
      const here = await world(['git.one.test', 'ghe.test'])
      const { reply } = await here.send({ method: 'PUT', host, target })
      expect([400, 403], `${host}: ${reply.status} ${here.records[0]?.action_type}`).toContain(reply.status)
      expectRefused(here)
    }
  })
})

/** An instance whose Connector does not say where REST is. */
describe.each([
  ['domains alone', { domains: ['ghe.test'] }],
  ['a base URL without a path', { domains: ['ghe.test'], baseUrl: 'https://ghe.test' }],
  ['a base URL of another name', { domains: ['ghe.test'], baseUrl: 'https://inner.test' }],
])('an operation that is denied at an instance with %s', (_name, connector) => {
  const rules = [
    ['codehost.*', 'allow'],
    ['codehost.pr.merge', 'deny'],
    ['codehost.git.*', 'deny'],
    ['codehost.release_asset.upload', 'deny'],
  ] as const
  const sent = async (method: string, target: string, body?: string) => {
    const here = await start({ connectors: [connector], permissions: rules })
    const headers = ['Content-Type', 'application/json']
    const { reply } = await here.send({
      ...{ method, host: 'ghe.test', target, headers },
      ...(body === undefined ? {} : { body }),
    })
    return { here, reply }
  }
  const MUTATION =
    '{"query":"mutation { mergePullRequest(input: {pullRequestId: \\"x\\"}) { clientMutationId } }"}'

  it.each([
    ['PUT', '/repos/o/r/pulls/1/merge', undefined],
    ['PUT', '/api/v3/repos/o/r/pulls/1/merge', undefined],
    ['POST', '/api/v3/repos/o/r/pulls/1/merge', undefined],
    ['PUT', '/API/v3/repos/o/r/pulls/1/merge', undefined],
    ['PUT', '/api//v3/repos/o/r/pulls/1/merge', undefined],
    ['PUT', '/api/v3/repos/o/r/pulls/1/merge%3Fx', undefined],
    ['PUT', '/repos/o/r/pulls/1/merge%23', undefined],
    ['POST', '/api/uploads/repos/o/r/releases/1/assets?name=x', '{}'],
    ['POST', '/o/r.git/git-receive-pack', undefined],
    ['POST', '/api/graphql', MUTATION],
    ['POST', '/api/v3/graphql', MUTATION],
    ['POST', '/graphql', MUTATION],
    ['POST', '/api/V3/graphql', MUTATION],
    ['POST', '/graphql%3Fx', MUTATION],
    ['POST', '/api/graphql%23', MUTATION],
  ])('is refused: %s %s', async (method, target, body) => {
    const { here, reply } = await sent(method, target, body)
    expect([400, 403], `${reply.status} ${here.records[0]?.action_type}`).toContain(reply.status)
    expectRefused(here)
  })

  it.each([
    ['GET', '/api/v3/repos/o/r/pulls/1', 'codehost.pr.get'],
    ['GET', '/api/v3/repos/o/r/contents/a%23b%3F.md', 'codehost.file.get'],
    ['DELETE', '/api/v3/repos/o/r/labels/what%3F', 'codehost.label.delete'],
    ['GET', '/api/v3/what/is/this', 'codehost.unmapped.get'],
  ])('does not keep %s %s from being %s', async (method, target, type) => {
    const { here, reply } = await sent(method, target)
    expect(reply.status, reply.text()).toBe(200)
    expect(here.records[0]).toMatchObject({ action_type: type })
  })
})
