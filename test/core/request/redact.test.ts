import { describe, expect, test } from 'vitest'
import { isRefusal } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import { recordPath } from '../../../core/request/redact.ts'

function recorded(target: string): string {
  const request = canonicalise({
    method: 'GET',
    target,
    rawHeaders: ['Host', 'api.example.test'],
    httpVersion: '1.1',
    scheme: 'https',
    sources: {},
  })
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

  test.each(['page=2&per_page=5', 'q=a%20b', 'flag', 'x=1;y=2', 'a=1&&b=2&'])(
    'keeps every other parameter byte for byte: %s',
    (query) => expect(recorded(`/v1/things?${query}`)).toBe(`/v1/things?${query}`),
  )
})
