import type { FastifyRequest } from 'fastify'
import { describe, expect, test } from 'vitest'
import { keyPrefix } from '../../../controlplane/crypto/tokens.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { createIdentities } from '../../../controlplane/features/authentication/service.ts'
import { type AuthDeps, authenticate } from '../../../controlplane/http/auth/authenticate.ts'
import { refuseRestricted } from '../../../controlplane/http/auth/restriction.ts'
import { sha256 } from '../../../runtime/sha256.ts'

/* Agent keys and enrolment tokens while the database hangs or fails. */
type Answer = (text: string) => Promise<{ readonly rows: readonly unknown[] }>
const hangs: Answer = () => new Promise(() => undefined)
const fails: Answer = () => Promise.reject(new Error('the database is away'))
const nobody: Answer = async () => ({ rows: [] })
const KEY = `svc_live_${'k'.repeat(43)}`
const TOKEN = 'enrolment-token'

/** Knows one agent and one gateway. */
const known: Answer = async (text) => {
  if (text.includes('process_owners')) return { rows: [{ id: 'proc_1' }] }
  if (text.includes('token_sha256')) return { rows: [{ id: 'gw_1', name: 'default/local', spec: {} }] }
  const agent = { id: 'agt_1', name: 'bot', capabilities: ['org:kill_switch'], apiKeySha256: sha256(KEY) }
  return { rows: [{ ...agent, apiKeyPrefix: keyPrefix(KEY), admitted: 1, retryAfterS: null }] }
}

function world() {
  const state = { answer: known }
  const db = { query: (text: string) => state.answer(text) } as unknown as Db
  const identify = createIdentities({
    db,
    podToken: null,
    operatorToken: null,
    clusterCallers: null,
    confirmAccess: async () => 'unchanged',
  })
  const deps: AuthDeps = {
    ...{ identify, adminTokenHash: null, operatorTokenHash: null, maintenanceSecretHash: null },
    ...{ publicUrl: null, isTokenRestricted: async () => false },
  }
  const call = (auth: 'agent_or_admin' | 'gateway', token: string, isUrgent = true) => {
    const headers = { authorization: `Bearer ${token}`, 'x-process-id': 'proc_1' }
    const admits = isUrgent ? (['unchecked'] as const) : []
    const request = { headers, url: '/api/gateway/ack' } as unknown as FastifyRequest
    return authenticate({ method: 'POST', auth, admits }, request, deps)
  }
  return { state, call }
}

const CALLERS = [
  ['an agent key', 'agent_or_admin', KEY, { kind: 'agent', name: 'bot', capabilities: ['org:kill_switch'] }],
  ['an enrolment token', 'gateway', TOKEN, { kind: 'gateway', gatewayId: 'gw_1', processId: 'proc_1' }],
] as const

describe.each(CALLERS)('%s that was checked lately', (_, auth, token, expected) => {
  test.each([
    ['hangs', hangs],
    ['fails', fails],
  ])('counts for an urgent call while the database %s, as unchecked', async (_what, away) => {
    const { state, call } = world()
    expect(await call(auth, token)).toMatchObject(expected)
    state.answer = away
    const found = await call(auth, token)
    expect(found).toMatchObject({ ...expected, restriction: 'unchecked' })
    expect(() => refuseRestricted(found)).toThrow(/can only activate the kill switch/)
  })

  test('is checked as before where the database answers', async () => {
    const { call } = world()
    await call(auth, token)
    expect(await call(auth, token)).not.toHaveProperty('restriction')
  })

  test('does not count for other calls, nor under another secret, nor when it was never seen', async () => {
    const { state, call } = world()
    state.answer = fails
    await expect(call(auth, token)).rejects.toThrow('away')
    state.answer = known
    await call(auth, token)
    state.answer = fails
    await expect(call(auth, token, false)).rejects.toThrow('away')
    for (const other of [`${token}x`, token.slice(0, -1), token.toUpperCase(), `${token.slice(0, -1)}y`])
      await expect(call(auth, other)).rejects.toThrow()
  })

  test('ends with the first answer that it was revoked, also one that comes late', async () => {
    const { state, call } = world()
    await call(auth, token)
    state.answer = nobody
    await expect(call(auth, token, false)).rejects.toMatchObject({ code: 'unauthorized' })
    state.answer = fails
    await expect(call(auth, token)).rejects.toThrow('away')
    state.answer = known
    await call(auth, token)
    const late = Promise.withResolvers<void>()
    state.answer = async (text) => {
      await late.promise
      return nobody(text)
    }
    expect(await call(auth, token)).toHaveProperty('restriction', 'unchecked')
    late.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    state.answer = fails
    await expect(call(auth, token)).rejects.toThrow('away')
  })
})

test('an agent key is limited as before while it is unchecked', async () => {
  const { state, call } = world()
  await call('agent_or_admin', KEY)
  state.answer = fails
  for (let count = 0; count < 60; count++) await call('agent_or_admin', KEY)
  await expect(call('agent_or_admin', KEY)).rejects.toMatchObject({ code: 'rate_limited' })
})

test('an approver key sets no kill switch, and is refused without the database', async () => {
  const { state, call } = world()
  state.answer = hangs
  await expect(call('agent_or_admin', `svc_user_${'u'.repeat(43)}`)).rejects.toMatchObject({
    code: 'unauthorized',
  })
})
