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
  ])('is not reached by %s under a milder name', async (target) => {
    for (const host of ['git.one.test', 'ghe.test']) {
      const here = await world(['git.one.test', 'ghe.test'])
      const { reply } = await here.send({ method: 'PUT', host, target })
      expect([400, 403], `${host}: ${reply.status} ${here.records[0]?.action_type}`).toContain(reply.status)
      expectRefused(here)
    }
  })
})
