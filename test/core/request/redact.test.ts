import { describe, expect, test } from 'vitest'
import { isRefusal } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import { rawRecordPath, recordPath, recordTarget } from '../../../core/request/redact.ts'

const RAW = {
  method: 'GET',
  rawHeaders: ['Host', 'api.example.test'],
  httpVersion: '1.1',
  scheme: 'https',
  sources: {},
} as const

function recorded(target: string): string {
  const request = canonicalise({ ...RAW, target })
  if (isRefusal(request)) throw new Error(request.detail)
  return recordPath(request)
}

describe('a recorded path', () => {
  test.each([
    'token=CANARY',
    '?token=CANARY',
    '%74oken=CANARY',
    'to%6ben=CANARY',
    '%54OKEN=CANARY',
    'access%5Ftoken=CANARY',
    'x=1;token=CANARY',
    'x=1;%74oken=CANARY;y=2',
    'token=CANARY;y=2',
    'pwd=CANARY',
    'user%5Bpassword%5D=CANARY',
    'a=1&api%2Dkey=CANARY&b=2',
    'x-amz-signature=CANARY',
  ])('hides the value of a secret parameter however its name is written: %s', (query) => {
    expect(recorded(`/v1/things?${query}`)).not.toContain('CANARY')
  })

  test.each([
    '/v1/things;token=CANARY',
    '/v1/things;token=CANARY/children',
    '/v1;token=CANARY/things',
    '/v1/things;a=1;token=CANARY;b=2',
    '/v1/things;%74oken=CANARY',
    '/v1/things;to%6ben=CANARY',
    '/v1/things;%54OKEN=CANARY',
    '/v1/things;access%5Ftoken=CANARY',
    '/v1/things%3Btoken=CANARY',
    '/v1/things%3btoken%3DCANARY',
    '/v1/things;token%3dCANARY',
    '/v1/things;jsessionid=CANARY',
    '/v1/things;jsessionid=CANARY?page=2',
    '/v1/things;api-key=CANARY?token=x',
    '/v1/token=CANARY',
    '/v1/a,token=CANARY',
    '/v1/a%2Ctoken=CANARY',
    '/v1/%74oken=CANARY/x',
    '/v1/a&token=CANARY',
    '/v1/a%26token=CANARY',
    '/v1/things;token=a=CANARY',
    '/v1/things;token=;x-sig=CANARY',
    '/v1/things;user%5Bpassword%5D=CANARY',
    '/;secret=CANARY',
    '/v1/things(token=CANARY)',
    "/v1/things(key='CANARY')",
    '/v1/things;token=a,CANARY',
    '/v1/things;token=(CANARY)',
    '/v1/things;token=a&CANARY',
    '/v1/things;token=a%2FCANARY',
    '/v1/things;token=a%3BCANARY=1',
    `/v1/things${',a=1'.repeat(20)},CANARY`,
  ])('hides the value of a secret parameter in the path: %s', (path) => {
    expect(recorded(path)).not.toContain('CANARY')
  })

  test.each([
    '/repos/acme/site/pulls/1',
    '/v1/things;page=2;sort=name',
    '/v1/things;v=1/children;v=2',
    '/v1/tokens/verify',
    '/v1/authors/1;lang=en',
    '/a%20b/c%2Fd',
    '/v1/key/secret',
    '/a,b/c=d',
  ])('keeps every other path byte for byte: %s', (path) => expect(recorded(path)).toBe(path))

  test.each([
    ['/v1/x;token=CANARY', '/v1/x;token=REDACTED'],
    ['http://h/v1//x;token=CANARY/y', '/v1//x;token=REDACTED/y'],
    ['/v1/%zz;%74oken=CANARY', '/v1/%zz;%74oken=REDACTED'],
    ['/v1/%zz=CANARY', '/v1/%zz=REDACTED'],
  ])('redacts it in a request that could not be parsed: %s', (target, expected) => {
    expect(rawRecordPath({ ...RAW, target })).toBe(expected)
  })

  test.each(['page=2&per_page=5', 'q=a%20b', 'flag', 'x=1;y=2', 'a=1&&b=2&'])(
    'keeps every other parameter byte for byte: %s',
    (query) => expect(recorded(`/v1/things?${query}`)).toBe(`/v1/things?${query}`),
  )
})

describe('the target of an action in a record', () => {
  test.each([
    ['acme/site', 'acme/site'],
    ['note://a?page=2', 'note://a?page=2'],
    ['https://bot:canary@git.example/a', 'https://REDACTED@git.example/a'],
    ['postgres://bot:ca@nary@db.example/a?b', 'postgres://REDACTED@db.example/a?b'],
    ['https://a.example/b?page=2&to%6ben=canary', 'https://a.example/b?page=2&to%6ben=REDACTED'],
    ['https://a.example/b?page=2#token=canary', 'https://a.example/b?page=2#token=REDACTED'],
    ['a.example/b;session=canary/c', 'a.example/b;session=REDACTED/c'],
  ])('%s is recorded as %s', (target, recorded) => expect(recordTarget(target)).toBe(recorded))
})
