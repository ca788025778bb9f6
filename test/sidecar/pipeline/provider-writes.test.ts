import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { REACHING_KINDS } from '../../../core/connectors/provider-side/kinds.ts'
import { connectorOfType } from '../../../core/connectors/registry.ts'
import { permissionsOfAccessRule } from '../../../core/decision/permissions/access-rules.ts'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import { type GoldenCase, USUAL_HOST } from '../../core/connectors/golden.ts'
import { JSON_BODY, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rule, Rules } from './test-world.ts'

const CASES: readonly GoldenCase[] = JSON.parse(
  readFileSync(new URL('../../golden/requests/provider-side.json', import.meta.url), 'utf8'),
)
/** Requests that make their provider do something, to hosts that the gateway lets pass. */
const ACTING = CASES.filter(
  ({ expect: { actions }, isAlwaysDenied }) => actions !== undefined && isAlwaysDenied !== true,
)
const PLAIN = CASES.filter(({ expect: { action, effect } }) => action !== undefined && effect !== 'write')
const TYPES = ['llm_a', 'llm_b', 'llm_c'] as const

/** Everything that is not for permissions to decide is open: hosts, and what the provider may reach. */
function open(permissions: (type: ConnectorEntry['type']) => readonly Rule[]): Rules {
  return {
    connectors: TYPES.map((type) => ({
      ...{ id: `conn_${type}`, name: type, type },
      providerTools: { allow: [...REACHING_KINDS] },
    })),
    gateway: { egress: { unmatchedHosts: 'tunnel', allowedHosts: [], tcp: [] } },
    permissions: TYPES.flatMap(permissions),
  }
}

/** The permissions that the access rule `read_only` writes. */
function readOnly(type: ConnectorEntry['type']): readonly Rule[] {
  const { catalogue = [] } = connectorOfType(type)
  return permissionsOfAccessRule(type, 'read_only', catalogue).map(({ pattern, decision }) => [
    pattern,
    decision,
  ])
}

const everything = (type: string): readonly Rule[] =>
  permissionsOfAccessRule(type, 'allow_all', connectorOfType(type).catalogue ?? []).map(
    ({ pattern, decision }) => [pattern, decision],
  )

const sent = ({ connector, request }: GoldenCase): TestExchangeInput => ({
  method: request.method,
  host: USUAL_HOST[connector],
  target: request.target,
  headers: JSON_BODY,
  body: request.body ?? '',
})

const named = (cases: readonly GoldenCase[]) =>
  cases.map((one) => [`${one.connector}: ${one.name}`, one] as const)

describe('under the access rule read_only', () => {
  it.each(named(ACTING))('%s is denied', async (_, one) => {
    const world = await start(open(readOnly))
    expect((await world.send(sent(one))).reply.status).toBe(403)
    expect(world.upstream.seen).toEqual([])
    expect(world.records).toMatchObject([{ decision: 'DENY' }])
  })

  it.each(named(PLAIN))('%s passes', async (_, one) => {
    const world = await start(open(readOnly))
    expect((await world.send(sent(one))).reply.status).toBe(200)
  })
})

describe('without the control plane, at the step that forbids writes', () => {
  it.each(named(ACTING))('%s is refused', async (_, one) => {
    const world = await start(open(everything))
    world.state.lease = 'writes'
    expect((await world.send(sent(one))).reply.status).toBe(503)
    expect(world.upstream.seen).toEqual([])
    world.state.lease = 'ok'
    expect((await world.send(sent(one))).reply.status).toBe(200)
  })

  it.each(named(PLAIN))('%s passes', async (_, one) => {
    const world = await start(open(everything))
    world.state.lease = 'writes'
    expect((await world.send(sent(one))).reply.status).toBe(200)
  })
})
