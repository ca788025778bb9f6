import { describe, expect, test } from 'vitest'
import { resolveCredential } from '../../../operator/cluster/credentials.ts'
import { objectBody } from '../../../operator/cluster/object-body.ts'
import { connector } from '../status/status-world.ts'

describe('a credential', () => {
  const ref = { credential: { secretRef: { name: 's', key: 'token' } } }
  const found = (data: Record<string, string>) => ({ state: 'found', data }) as const
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  test.each([
    [
      'without the line end of the file that it came from',
      found({ token: base64('ghp\n') }),
      'ghp',
      undefined,
    ],
    ['is none when its Secret is missing', { state: 'missing' } as const, null, 'SecretNotFound'],
    ['is none when its key is missing', found({ other: base64('x') }), null, 'SecretKeyNotFound'],
    ['is none when it is empty', found({ token: base64('\n') }), null, 'SecretKeyNotFound'],
    [
      'stays as it is known when it may not be read',
      { state: 'forbidden' } as const,
      undefined,
      'SecretForbidden',
    ],
    [
      'stays as it is known when it cannot be read',
      { state: 'unreadable' } as const,
      undefined,
      'SecretUnreadable',
    ],
  ])('%s', (_name, reading, value, reason) => {
    const credential = resolveCredential(ref, 'team', reading)
    expect([credential.value, credential.problem?.reason]).toEqual([value, reason])
    const body = objectBody('Connector', connector({ type: 'codehost', ...ref }), credential)
    expect('credential' in body ? body.credential : undefined).toBe(value)
  })
})
